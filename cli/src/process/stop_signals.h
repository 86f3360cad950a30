// Lets a program check for SIGINT, SIGTERM and SIGHUP instead of being ended by them.
#pragma once

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace flor::cli {

/// Blocks these signals during its lifetime. A signal that arrives stays pending until `came` takes
/// it.
class StopSignals {
 public:
  explicit StopSignals(std::initializer_list<int> signals = {SIGINT, SIGTERM, SIGHUP}) {
    ::sigemptyset(&set_);
    for (const int signal : signals) ::sigaddset(&set_, signal);
    ::sigprocmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() {
    if (descriptor_ >= 0) ::close(descriptor_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// A descriptor that is readable when a signal is pending.
  int descriptor() const { return descriptor_; }
  /// Takes a pending signal. Returns whether there was one.
  bool came() const {
    signalfd_siginfo signal;
    return ::read(descriptor_, &signal, sizeof signal) == sizeof signal;
  }

 private:
  sigset_t set_, before_;
  int descriptor_ = -1;
};

}  // namespace flor::cli
