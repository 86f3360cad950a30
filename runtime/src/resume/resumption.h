// Leads the program of an interrupted run to the point where it is resumed. Complete iterations are
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

/// Leads one program to its resume point. To be used by the session's thread, in the part of a
/// session before the point. Every function throws Error if the program does not lead to the point.
class Resumption {
 public:
  /// The record must have nothing after the point. `exact`: the sources are the recorded ones.
  Resumption(const store::Store& store, const store::Run& run, store::ResumePoint point,
             Rehearsal rehearsal, CheckPlan check, bool exact, const Registry& registry);

  const store::ResumePoint& point() const { return point_; }

  /// Called when a main loop begins. Returns nothing if the recorded run had not begun this loop,
  /// so that it begins as usual.
  std::optional<LoopScope::Start> begin_main(Frame& frame, bool random_access);
  /// Called before the last step to the first visited iteration of a main loop, or to the step of a
  /// nested loop at which the point or the check begins. `gone`: the range has fewer elements.
  void arrive(const Frame& frame, bool gone);
  /// Whether the iteration is complete, and visited only to restore the locals of its nested loops.
  bool rehearses(const Frame& main) const { return main.index < point_.iteration; }
  LoopScope::Move leave_rehearsed(Frame& main);
  /// Whether the iteration is visited to be compared, so that its nested loops are executed.
  bool checks_all_of(const Frame& main) const {
    return check_ && !plan_.stretch && main.index == plan_.iteration;
  }
  /// Whether a stretch of a nested loop still has to be executed and compared.
  bool checks_stretch() const { return check_ && plan_.stretch && !stretch_over_; }
  /// Whether the check ends at the end of this iteration.
  bool checks_at_end(const Frame& main) const {
    return checks_all_of(main) || (checks(main) && checks_stretch());
  }
  ResumeCheck& check() { return *check_; }
  /// Called after a step of a nested loop that is executed for the check. Returns true if the check
  /// is over, and the run continues in this loop.
  bool leave_checked(const Frame& main, Frame& nested);
  /// Called after a nested loop that is executed for the check. Returns true if the check is over.
  bool end_checked(const Frame& main, const Frame& nested, LoopEnd how);
  /// Called when a nested loop begins. Returns nothing if the loop is to be executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& frame);
  /// How much time had passed when the checkpoint at the point was made.
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
  std::unique_ptr<ResumeCheck> check_;  // null: nothing is executed again
  bool stretch_over_ = false;
  Comparison unused_;
  RecordedState state_;
};

}  // namespace flor::detail
