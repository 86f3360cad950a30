// Leads the program of an interrupted run to the point where the run goes on: what was complete is
// loaded instead of executed.
#pragma once

#include "record.h"
#include "recorded_state.h"
#include "rehearsal.h"
#include "runtime.h"
#include "verdict.h"

#include <flor/store/store.h>

#include <optional>
#include <string>

namespace flor::detail {

/// Belongs to the session's thread, and to the part of a session that precedes the point. Every
/// function throws Error where the program does not lead to the point.
class Resumption {
 public:
  /// The record holds nothing beyond the point any more.
  Resumption(const store::Store& store, const store::Run& run, store::ResumePoint point,
             Rehearsal rehearsal, const Registry& registry);

  const store::ResumePoint& point() const { return point_; }

  /// Nothing: the main loop is one that the run has not begun, and begins as usual.
  std::optional<LoopScope::Start> begin_main(Frame& frame, bool random_access);
  /// Before the last step to the first visited iteration, or to the step of a nested loop; `gone`:
  /// the range has not so many elements.
  void arrive(const Frame& frame, bool gone);
  /// The iteration is complete, and visited only for the locals of its nested loops.
  bool rehearses(const Frame& main) const { return main.index < point_.iteration; }
  void leave_rehearsed(Frame& main);
  /// Nothing: the nested loop is executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& frame);
  /// Seconds that the iteration and the nested loop had taken when the checkpoint was made.
  struct Elapsed {
    double iteration = 0, loop = 0;
  };
  Elapsed elapsed() const;

 private:
  store::CheckpointKey step_key() const;
  bool restore_boundary(std::int64_t iteration);
  void restore_first(const store::MainLoop& loop);

  const store::Store& store_;
  store::ResumePoint point_;
  Rehearsal rehearsal_;
  Record record_;
  Comparison unused_;
  RecordedState state_;
};

/// The item of a checkpoint inside a nested loop that says how long it had taken until then.
inline constexpr std::string_view kElapsedItem = "@elapsed";

}  // namespace flor::detail
