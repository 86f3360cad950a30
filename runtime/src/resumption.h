// Leads the program of an interrupted run to the point where the run goes on: what was complete is
// loaded instead of executed.
#pragma once

#include "record.h"
#include "recorded_state.h"
#include "rehearsal.h"
#include "resume_check.h"
#include "runtime.h"
#include "verdict.h"

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
  /// Before the last step to the first visited iteration, or to the step of a nested loop; `gone`:
  /// the range has not so many elements.
  void arrive(const Frame& frame, bool gone);
  /// The iteration is complete, and visited only for the locals of its nested loops.
  bool rehearses(const Frame& main) const { return main.index < point_.iteration; }
  LoopScope::Move leave_rehearsed(Frame& main);
  /// The iteration is visited in order to be compared, and its nested loops are executed.
  bool checks(const Frame& main) const { return check_ && main.index == plan_.iteration; }
  ResumeCheck& check() { return *check_; }
  const CheckPlan& plan() const { return plan_; }
  /// After a step of a nested loop that is executed for the check.
  void leave_checked(const Frame& main, Frame& nested);
  /// After the loop itself.
  void end_checked(const Frame& main, const Frame& nested, LoopEnd how);
  /// Nothing: the nested loop is executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& frame);
  /// Seconds that the iteration and the nested loop had taken when the checkpoint was made.
  struct Elapsed {
    double iteration = 0, loop = 0;
  };
  Elapsed elapsed() const;

 private:
  /// The iteration with which the main loop begins.
  std::int64_t first() const {
    return check_ ? std::min(plan_.iteration, rehearsal_.first) : rehearsal_.first;
  }
  store::CheckpointKey step_key() const;
  bool restore_boundary(std::int64_t iteration);
  bool fits(std::int64_t iteration);
  LoopScope::Start begin_checked(const store::CheckpointKey& end, Frame& frame);
  void restore_first(const store::MainLoop& loop);

  const store::Store& store_;
  store::ResumePoint point_;
  Rehearsal rehearsal_;
  CheckPlan plan_;
  Record record_;
  std::unique_ptr<ResumeCheck> check_;  // none: nothing is executed again
  Comparison unused_;
  RecordedState state_;
};

/// The item of a checkpoint inside a nested loop that says how long it had taken until then.
inline constexpr std::string_view kElapsedItem = "@elapsed";

}  // namespace flor::detail
