// Commands that end in order at Ctrl-C.
#pragma once

#include <csignal>

namespace flor::cli {

/// While it lives SIGINT and SIGTERM are only noted, and end what the process waits for (poll,
/// sleep). One at a time.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  /// Whether one of them came since.
  static bool came() noexcept;

 private:
  struct sigaction interrupt_{}, terminate_{};
};

}  // namespace flor::cli
