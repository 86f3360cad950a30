// Keeps signals away from threads that Flor starts inside another program.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace flor::store {

/// Blocks every signal in the calling thread for as long as it lives, and restores the thread's
/// mask then. A thread inherits the mask of the one that starts it, so threads started meanwhile
/// never run a handler: a program's signals are delivered to its own threads, as if there were no
/// others, and interrupt none of the system calls of Flor's. Signals that arrive meanwhile are
/// delivered afterwards. Signals of a thread's own faults (SIGSEGV and the like) end the process
/// either way.
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
