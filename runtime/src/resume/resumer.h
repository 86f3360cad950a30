// The first part of a resumed or forked recording: it leads the program to the point of the
// interruption.
#pragma once

#include "resume/continuation.h"
#include "resume/recorded_way.h"
#include "resume/resumption.h"
#include "session/journal.h"
#include "session/runtime.h"
#include "state/registry.h"

#include <flor/store/store.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace flor::detail {

/// Takes the loop events of a program until it reaches the point, and decides what happens to
/// values logged meanwhile; then it does nothing more. To be used by the training thread, unless
/// noted otherwise. Functions throw Error if the program does not lead to the point.
class Resumer {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;  ///< open until `stop`
    const store::Run& run;
    const Flags& flags;
    const Registry& registry;
    Journal& journal;
    /// Returns when all that was logged has been passed to `check` or `keeps_recorded`.
    std::function<void()> keep_logged;
    /// Called when the iteration that was executed again differs from the record. Records `message`
    /// as the reason of the interruption, and ends the process; does not return.
    std::function<void(const std::string& message)> refuse;
    /// Called when the way to a step differs from the record. Does the same, and also deletes the
    /// checkpoints inside iterations. `remedy` tells the user what to do.
    std::function<void(const std::string& message, const std::string& remedy)> refuse_inside;
  };
  explicit Resumer(Parts parts) : parts_(std::move(parts)) {}

  /// From now on leads the program to the point, if anything before it is to be passed by. To be
  /// called before the background thread exists.
  void lead(Continuation from);
  /// True until the point is reached.
  bool leads() const { return resumption_ != nullptr; }
  const store::ResumePoint& point() const { return resumption_->point(); }
  /// Whether the present iteration is complete in the record.
  bool rehearses() const { return rehearsing_; }
  /// Whether logged values are compared with the record instead of kept. Any thread may call it.
  bool checks() const { return checking_; }
  /// Stops leading, since the run ends.
  void stop();

  // Loop events, see Runtime.
  /// Returns nothing if the loop begins as usual.
  std::optional<LoopScope::Start> begin_main(Frame& frame, bool random_access);
  void arrive(const Frame& frame, bool gone);
  void enter(Frame& main);
  /// Returns nothing if the iteration is executed as usual.
  std::optional<LoopScope::Move> leave(Frame& main);
  void end_main(const Frame& main, LoopEnd how);
  /// Returns nothing if the loop is to be executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& nested);
  void reach(Frame& nested);
  /// Returns how many steps to take to the next iteration.
  std::int64_t leave_nested(Frame& main, Frame& nested);
  /// Returns true if the loop was executed only for a comparison.
  bool end_nested(const Frame& main, const Frame& nested, LoopEnd how);

  // For the background thread.
  /// Compares the values that were logged while `checks()` was true.
  void check(const LogBatch& batch);
  /// Returns true if the value was logged on the way to a step. The recorded value then replaces
  /// it, whose content is stored already.
  bool keeps_recorded(store::Value& value, const LoggedContent* content) {
    return way_.entered() && !way_.compare(value, content);
  }

 private:
  void begin_check();
  /// Called when an iteration was executed again for the comparison: reports the result, or ends
  /// the process.
  void conclude_check();
  void end_way();  ///< called at the step to which the way leads
  void reached();

  Parts parts_;
  std::unique_ptr<Resumption> resumption_;  // null once the point is reached
  std::optional<store::RunUse> use_;        // null once the point is reached
  bool logs_outside_ = false;               // see Continuation
  bool rehearsing_ = false;
  std::atomic<bool> checking_{false};
  RecordedWay way_;
};

}  // namespace flor::detail
