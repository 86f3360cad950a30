// Lets commands end cleanly after Ctrl-C.
#pragma once

#include <csignal>

namespace flor::cli {

/// During its lifetime SIGINT and SIGTERM do not end the process: `came` reports them, and they
/// interrupt system calls that wait (poll, sleep). Only one object may exist at a time.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// Whether one of the signals came since the object was made.
  static bool came() noexcept;

 private:
  struct sigaction interrupt_{}, terminate_{};
};

}  // namespace flor::cli
