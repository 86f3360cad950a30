// The priority of Flor's background threads in a training program.
#pragma once

#include <pthread.h>
#include <time.h>

#include <mutex>
#include <vector>

namespace flor::store {

/// A group of threads that stay out of the way of everything else until a thread waits for them.
/// Thread-safe.
class BackgroundPriority {
 public:
  BackgroundPriority() = default;
  BackgroundPriority(const BackgroundPriority&) = delete;
  BackgroundPriority& operator=(const BackgroundPriority&) = delete;

  /// Makes the calling thread a member for as long as it lives. A thread that has become a member
  /// stays at low priority to its end, so this is for threads that do nothing else.
  class Member {
   public:
    /// `name` is shown by tools; at most 15 characters.
    Member(BackgroundPriority& group, const char* name);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    BackgroundPriority& group_;
    pthread_t thread_;
    clockid_t clock_ = 0;
  };

  /// The members run at normal priority while this lives: a thread waits for them, and other
  /// processes may keep the cores busy. Made by the waiting thread.
  class Hurry {
   public:
    explicit Hurry(BackgroundPriority& group) : group_(group) { group_.hurry(+1); }
    ~Hurry() { group_.hurry(-1); }
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    BackgroundPriority& group_;
  };

  /// CPU time that the members, also those that have ended, have used so far.
  double cpu_seconds() const;

 private:
  void hurry(int change);

  mutable std::mutex mutex_;
  int hurries_ = 0;
  std::vector<pthread_t> idle_;    ///< members that run at SCHED_IDLE and can leave it
  std::vector<clockid_t> clocks_;  ///< of the members' CPU time
  double ended_seconds_ = 0;       ///< of those that have ended
};

}  // namespace flor::store
