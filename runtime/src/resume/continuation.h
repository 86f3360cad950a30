// The recording that another one continues: its own interrupted run, or a new run (a fork) that
// begins with the state another run had at the end of an epoch.
#pragma once

#include "protocol/flags.h"
#include "resume/changes.h"
#include "resume/fork_point.h"
#include "resume/recorded_way.h"
#include "resume/rehearsal.h"
#include "resume/resume_check.h"

#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

/// A run, and the point to which the program has to be led. The record has nothing after that
/// point.
struct Continuation {
  store::Run run;
  std::optional<store::RunUse> use;  ///< keeps its checkpoints until the point is reached
  store::ResumePoint point;
  Rehearsal rehearsal;
  CheckPlan check;
  ValuesOnWay on_way;         ///< values that the program logs again on the way
  bool exact = true;          ///< the sources are the recorded ones
  bool logs_outside = false;  ///< a fork: the run has no values from outside of loops yet
  std::string forked;         ///< for a new fork: " from the end of epoch 3 of run 1234abcd"

  /// Whether something is complete in the record, and so is not executed again.
  bool passes_by() const { return point.boundary || point.main_loop > 0; }
};

/// How the process continues an interrupted run.
struct Resuming {
  std::string commit;                    ///< commit of the sources; empty without git
  /// The point common to all ranks; nothing: the latest of the run.
  std::optional<store::ResumePoint> at;
  std::optional<std::int64_t> agreed;    ///< see `fork_run`
  bool warns = true;  ///< warns of changes; with several ranks only the first does
};

/// Whether the run can be resumed inside an iteration. If the sources show a variable that would be
/// lost there, it is resumed before that iteration instead, and a warning says so.
bool may_resume_inside(const store::Store& store, std::int64_t run);

/// Deletes what the run recorded after the point. Warns of differences from the process that
/// recorded it. Throws Error, and deletes nothing, if the program would reach the point with
/// another state than recorded. Also throws what the store throws.
Continuation resume_run(store::Store& store, const store::Run& run, const Resuming& how,
                        const Flags& flags);

/// Adds the run `as`, with a copy of the record of another run up to a boundary. `changed` are the
/// arguments that differ from that run's. `agreed` is the iteration that rank 0 checks, or -1 for
/// none; if it is not given, this process decides. Throws as resume_run does.
Continuation fork_run(store::Store& store, const ForkPoint& from, const store::NewRun& as,
                      const std::optional<store::RunBuild>& build,
                      const std::vector<ChangedArgument>& changed, const Flags& flags,
                      std::optional<std::int64_t> agreed = {});

}  // namespace flor::detail
