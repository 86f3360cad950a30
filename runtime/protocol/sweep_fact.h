// How a recording learns that it belongs to a sweep (one program recorded with many combinations of
// arguments), and where its record says so; also where the record says which session of its process
// it was.
#pragma once

namespace flor::detail {

/// The environment variable in which `flor sweep` passes the sweep's name to the programs it
/// starts.
inline constexpr const char* kSweepVariable = "FLOR_SWEEP";

/// The name of a fact of the run (NewRun::environment) and of an argument. The fact is part of the
/// run's first event, so that even a recording that is killed belongs to its sweep. The argument is
/// for choosing runs in lists.
inline constexpr const char* kSweepFact = "sweep";

/// A fact of a run that is not the first that its process recorded: the number, from 2 on.
inline constexpr const char* kSessionFact = "session";

}  // namespace flor::detail
