// Recordings that end before the program does: a signal asks for it, or a resumed program turns out
// not to be the recorded one.
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

/// Ends the process with the run in the store as an interrupted one. Belongs to the thread of the
/// training, but where it says otherwise.
class EarlyEnd {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;
    const store::Run& run;
    const std::unique_ptr<Background>& background;  ///< there once the run has begun
    RunStorage& storage;
    GroupMember& group;
  };
  explicit EarlyEnd(Parts parts) : parts_(parts) {}

  /// A main loop begins: from now on its steps look for signals.
  void enter_loop();
  /// Outside of main loops nothing does, and nothing is lost there.
  void leave_loop() { in_loop_ = false; }
  /// The program has ended: a signal is too late now.
  void close() { in_loop_ = true; }

  /// Ends the process because of a signal to this rank or another. `where`: "epoch 3, step 5 of
  /// train".
  [[noreturn]] void preempt(const std::string& where);
  /// See Resumer::Parts.
  [[noreturn]] void refuse(const std::string& message);
  [[noreturn]] void refuse_inside(const std::string& message, const std::string& remedy);

  // On the background thread.
  enum class Answer { none, end_of_step, end_now };
  /// Each signal is answered once.
  Answer answer(int signal);
  /// Announces the end after the present step, or ends the process.
  void heed(int signal);
  /// Enters the interruption; returns the line about it. `signal`: 0 if it came to another rank.
  /// Throws where it could not be recorded.
  std::string interrupt(int signal, const std::string& where);

 private:
  [[noreturn]] void end_preempted(const std::string& where) noexcept;
  [[noreturn]] void end_inside(const std::string& message, const std::string& remedy) noexcept;

  Parts parts_;
  std::atomic<bool> in_loop_{false};  // a main loop is being executed
  std::atomic<bool> began_{false};    // there was one
  bool announced_ = false, leaving_ = false;
};

}  // namespace flor::detail
