// Runs that a recording continues: its own, which was interrupted, or a new one that begins with
// the state that another had at the end of an epoch.
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

/// A run whose record has nothing after the point to which the program has to be led.
struct Continuation {
  store::Run run;
  std::optional<store::RunUse> use;  ///< of its checkpoints, until the point is reached
  store::ResumePoint point;
  Rehearsal rehearsal;
  CheckPlan check;
  ValuesOnWay on_way;         ///< that the program logs again
  bool exact = true;          ///< the sources are the recorded ones
  bool logs_outside = false;  ///< it has logged nothing outside of loops yet: a fork
  std::string forked;         ///< " from the end of epoch 3 of run 1234abcd", of a new fork

  /// Something was complete, and is not executed again.
  bool passes_by() const { return point.boundary || point.main_loop > 0; }
};

/// How the process continues an interrupted run.
struct Resuming {
  std::string commit;                    ///< of the sources; empty without git
  std::optional<store::ResumePoint> at;  ///< of all ranks; nothing: the latest of the run
  std::optional<std::int64_t> agreed;    ///< see `fork_run`
  bool warns = true;                     ///< of changes; of several ranks the first one does
};

/// Whether the run can be resumed inside an iteration: where the sources name a variable that would
/// be lost there, it is resumed before that iteration, and a warning says so.
bool may_resume_inside(const store::Store& store, std::int64_t run);

/// Drops what the run recorded after the point. Warns of differences to the process that recorded
/// it. Throws Error, and drops nothing, where the program would come to the point with another
/// state than was recorded; and what the store throws.
Continuation resume_run(store::Store& store, const store::Run& run, const Resuming& how,
                        const Flags& flags);

/// Adds the run `as`, with the record of another up to a boundary. `changed`: the arguments that
/// are not those of that run. `agreed`: the iteration that rank 0 checks, -1: none; nothing: this
/// process decides. Throws likewise.
Continuation fork_run(store::Store& store, const ForkPoint& from, const store::NewRun& as,
                      const std::optional<store::RunBuild>& build,
                      const std::vector<ChangedArgument>& changed, const Flags& flags,
                      std::optional<std::int64_t> agreed = {});

}  // namespace flor::detail
