// Keeps signals away from threads that Flor starts inside another program.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace flor::store {

/// Blocks all signals in the calling thread while this object exists, and then restores the
/// thread's signal mask. Threads started meanwhile inherit the blocked mask, so they never run the
/// program's signal handlers, and signals do not interrupt their system calls. Signals that arrive
/// meanwhile are delivered afterwards. A signal caused by a thread's own fault (such as SIGSEGV)
/// still ends the process.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace flor::store
