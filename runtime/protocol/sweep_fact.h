// How a recording learns that it belongs to a sweep, and where its record says so; and which of the
// sessions of its process it was.
#pragma once

namespace flor::detail {

/// Names the sweep in the environment of the programs that `flor sweep` starts.
inline constexpr const char* kSweepVariable = "FLOR_SWEEP";

/// A fact of the run (NewRun::environment), which is in the record from its first event on, so that
/// a killed recording belongs to its sweep, too; and an argument, by which lists choose.
inline constexpr const char* kSweepFact = "sweep";

/// A fact of a run that is not the first that its process recorded: the number, from 2 on.
inline constexpr const char* kSessionFact = "session";

}  // namespace flor::detail
