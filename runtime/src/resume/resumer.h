// The part of a recording that precedes the point where its run was interrupted or forked.
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

/// Takes the loop events of a program until it has come to the point, and decides what is logged
/// meanwhile; then it does nothing any more. Belongs to the thread of the training, but where it
/// says otherwise. Functions throw Error where the program does not lead to the point.
class Resumer {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;  ///< open until `stop`
    const store::Run& run;
    const Flags& flags;
    const Registry& registry;
    Journal& journal;
    /// All that was logged has been given to `check`, or to `keeps_recorded`, when it returns.
    std::function<void()> keep_logged;
    /// The iteration that was executed again differs from the record: enters the message as the
    /// reason why the run is interrupted, and ends the process; does not return.
    std::function<void(const std::string& message)> refuse;
    /// The way to a step differs from the record: the same, and drops the checkpoints inside
    /// iterations. `remedy`: for the user.
    std::function<void(const std::string& message, const std::string& remedy)> refuse_inside;
  };
  explicit Resumer(Parts parts) : parts_(std::move(parts)) {}

  /// Leads the program to the point from now on, if anything before it is to be passed by. Before
  /// there is a background thread.
  void lead(Continuation from);
  /// The point is not reached yet.
  bool leads() const { return resumption_ != nullptr; }
  const store::ResumePoint& point() const { return resumption_->point(); }
  /// The present iteration is complete in the record.
  bool rehearses() const { return rehearsing_; }
  /// Logged values are compared with the record, and not kept. Any thread.
  bool checks() const { return checking_; }
  /// Gives up leading: the run ends.
  void stop();

  // Loop events, see Runtime.
  /// Nothing: the loop begins as usual.
  std::optional<LoopScope::Start> begin_main(Frame& frame, bool random_access);
  void arrive(const Frame& frame, bool gone);
  void enter(Frame& main);
  /// Nothing: the iteration is the program's own.
  std::optional<LoopScope::Move> leave(Frame& main);
  void end_main(const Frame& main, LoopEnd how);
  /// Nothing: the loop is executed.
  std::optional<LoopScope::Start> begin_nested(const Frame& main, Frame& nested);
  void reach(Frame& nested);
  /// The steps to the next iteration.
  std::int64_t leave_nested(Frame& main, Frame& nested);
  /// True: the loop was executed only to be compared.
  bool end_nested(const Frame& main, const Frame& nested, LoopEnd how);

  // On the background thread.
  /// Compares values that were logged while it `checks`.
  void check(const LogBatch& batch);
  /// The value is one on the way to a step, and replaced by the recorded one, whose content is
  /// stored.
  bool keeps_recorded(store::Value& value, const LoggedContent* content) {
    return way_.entered() && !way_.compare(value, content);
  }

 private:
  void begin_check();
  /// An iteration was executed again to compare it with the record: says so, or ends the process.
  void conclude_check();
  void end_way();  ///< at the step to which it leads
  void reached();

  Parts parts_;
  std::unique_ptr<Resumption> resumption_;  // until its point is reached
  std::optional<store::RunUse> use_;        // likewise
  bool logs_outside_ = false;               // see Continuation
  bool rehearsing_ = false;
  std::atomic<bool> checking_{false};
  RecordedWay way_;
};

}  // namespace flor::detail
