// Leads the program of an interrupted run to the point where it is resumed: complete iterations are
// loaded instead of executed.
#pragma once

#include "replay/recorded_run.h"
#include "replay/recorded_state.h"
#include "resume/rehearsal.h"
#include "resume/resume_check.h"
#include "session/runtime.h"
#include "verdict/verdict.h"

#include <flor/store/store.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace flor::detail {

/// Belongs to the session's thread, and to the part of a session that precedes the point. Every
/// function throws Error where the program does not lead to the point.
class Resumption {
 public:
  /// The record holds nothing beyond the point any more. `exact`: the sources are the recorded
  /// ones.
  Resumption(const store::Store& store, const store::Run& run, store::ResumePoint point,
             Rehearsal rehearsal, CheckPlan check, bool exact, const Registry& registry);

  const store::ResumePoint& point() const { return point_; }

  /// Nothing: the main loop is one that the run has not begun, and begins as usual.
  std::optional<LoopScope::Start> begin_main(Frame& frame, bool random_access);
  /// Before the last step to the first visited iteration, or to the step of a nested loop, be it
  /// that of the point or that at which the check begins; `gone`: the range has not so many
  /// elements.
  void arrive(const Frame& frame, bool gone);
  /// The iteration is complete, and visited only for the locals of its nested loops.
  bool rehearses(const Frame& main) const { return main.index < point_.iteration; }
  LoopScope::Move leave_rehearsed(Frame& main);
  /// The iteration is visited in order to be compared, and its nested loops are executed.
  bool checks_all_of(const Frame& main) const {
    return check_ && !plan_.stretch && main.index == plan_.iteration;
  }
  /// A stretch of a nested loop is still to be executed in order to be compared.
  bool checks_stretch() const { return check_ && plan_.stretch && !stretch_over_; }
  /// Whether the check ends with the iteration.
  bool checks_at_end(const Frame& main) const {
    return checks_all_of(main) || (checks(main) && checks_stretch());
  }
  ResumeCheck& check() { return *check_; }
  /// Called after a step of a nested loop that is executed for the check. True: the check is over,
  /// and the run continues in this loop.
  bool leave_checked(const Frame& main, Frame& nested);
  /// After the loop itself. True: the check is over.
  bool end_checked(const Frame& main, const Frame& nested, LoopEnd how);
  /// Nothing: the nested loop is executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& frame);
  /// The time that had passed when the checkpoint at the point was made.
  Elapsed elapsed() const;

 private:
  /// The iteration with which the main loop begins.
  std::int64_t first() const {
    return check_ ? std::min(plan_.iteration, rehearsal_.first) : rehearsal_.first;
  }
  store::CheckpointKey step_key(const std::string& loop, std::int64_t step) const;
  store::CheckpointKey point_key() const { return step_key(point_.loop, point_.step); }
  bool checks(const Frame& main) const { return check_ && main.index == plan_.iteration; }
  bool restore_boundary(std::int64_t iteration);
  bool fits(std::int64_t iteration);
  LoopScope::Start begin_checked(const store::CheckpointKey& end, Frame& frame);
  LoopScope::Start begin_at(std::int64_t step, Frame& frame);
  LoopScope::Start load(const store::CheckpointKey& end, const Frame& frame);
  void limit_as_recorded(const store::CheckpointKey& end, Frame& frame) const;
  void compare_length(const store::CheckpointKey& end, const Frame& nested, std::int64_t begun);
  void restore_first(const store::MainLoop& loop);

  const store::Store& store_;
  store::ResumePoint point_;
  Rehearsal rehearsal_;
  CheckPlan plan_;
  Record record_;
  std::unique_ptr<ResumeCheck> check_;  // none: nothing is executed again
  bool stretch_over_ = false;
  Comparison unused_;
  RecordedState state_;
};

}  // namespace flor::detail
