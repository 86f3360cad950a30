// Ends a recording before the program's own end: because of a signal, or because a resumed program
// turns out not to be the recorded one.
#pragma once

#include "base/background_thread.h"
#include "record/group_member.h"
#include "record/run_storage.h"

#include <flor/store/store.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace flor::detail {

/// Ends the process, and leaves its run in the store as interrupted. To be used by the training
/// thread, unless noted otherwise.
class EarlyEnd {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;
    const store::Run& run;
    const std::unique_ptr<Background>& background;  ///< null until the run has begun
    RunStorage& storage;
    GroupMember& group;
  };
  explicit EarlyEnd(Parts parts) : parts_(parts) {}

  /// Called when a main loop begins. From then on its steps look for signals.
  void enter_loop();
  /// Outside of main loops a signal ends the process at once, which loses nothing.
  void leave_loop() { in_loop_ = false; }
  /// Called when the program has ended, after which a signal comes too late.
  void close() { in_loop_ = true; }

  /// Ends the process because of a signal to this or another rank. `where` is, for example, "epoch
  /// 3, step 5 of train".
  [[noreturn]] void preempt(const std::string& where);
  /// See Resumer::Parts.
  [[noreturn]] void refuse(const std::string& message);
  [[noreturn]] void refuse_inside(const std::string& message, const std::string& remedy);

  // For the background thread.
  enum class Reaction { none, end_of_step, end_now };
  /// How to react to a signal. Each signal is answered once.
  Reaction answer(int signal);
  /// Announces the end after the present step, or ends the process.
  void heed(int signal);
  /// Records the interruption, and returns the line about it. `signal` is 0 if another rank got it.
  /// Throws if the interruption cannot be recorded.
  std::string interrupt(int signal, const std::string& where);

 private:
  [[noreturn]] void end_preempted(const std::string& where) noexcept;
  [[noreturn]] void end_inside(const std::string& message, const std::string& remedy) noexcept;

  Parts parts_;
  std::atomic<bool> in_loop_{false};  // a main loop is being executed
  std::atomic<bool> began_{false};    // a main loop has begun at some time
  bool announced_ = false, leaving_ = false;
};

}  // namespace flor::detail
