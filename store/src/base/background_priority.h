// The priority of Flor's background threads in a training program.
#pragma once

#include <pthread.h>
#include <time.h>

#include <mutex>
#include <vector>

namespace flor::store {

/// A group of threads that run at the lowest scheduling priority, except while another thread waits
/// for their work. Thread-safe.
class BackgroundPriority {
 public:
  BackgroundPriority() = default;
  BackgroundPriority(const BackgroundPriority&) = delete;
  BackgroundPriority& operator=(const BackgroundPriority&) = delete;

  /// Makes the calling thread a member of the group. Construct it once at the start of a thread
  /// that does only background work: the thread's low priority is not undone by the destructor.
  class Member {
   public:
    /// `name` is the thread's name in tools such as top; at most 15 characters.
    Member(BackgroundPriority& group, const char* name);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    BackgroundPriority& group_;
    pthread_t thread_;
    clockid_t clock_ = 0;
  };

  /// Raises all members to normal priority while this object exists. The thread that waits for them
  /// makes it: otherwise other processes that keep the cores busy could delay the members for long.
  class Hurry {
   public:
    explicit Hurry(BackgroundPriority& group) : group_(group) { group_.hurry(+1); }
    ~Hurry() { group_.hurry(-1); }
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    BackgroundPriority& group_;
  };

  /// CPU time in seconds that all members, including those that have ended, have used so far.
  double cpu_seconds() const;

 private:
  void hurry(int change);

  mutable std::mutex mutex_;
  int hurries_ = 0;
  std::vector<pthread_t> idle_;    ///< members that run at SCHED_IDLE and can leave it
  std::vector<clockid_t> clocks_;  ///< CPU clocks of the living members
  double ended_seconds_ = 0;       ///< CPU time of members that have ended
};

}  // namespace flor::store
