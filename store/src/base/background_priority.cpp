#include "base/background_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

namespace flor::store {
namespace {

bool set_policy(pthread_t thread, int policy) {
  const sched_param parameters{};
  return ::pthread_setschedparam(thread, policy, &parameters) == 0;
}

/// Tests whether a thread may leave SCHED_IDLE. Uses a thread of its own, because a thread that may
/// not leave it would keep that priority.
bool may_leave_idle() {
  bool may = false;
  try {
    std::thread([&may] {
      may = set_policy(::pthread_self(), SCHED_IDLE) && set_policy(::pthread_self(), SCHED_OTHER);
    }).join();
  } catch (const std::system_error&) {  // no thread can be started
  }
  return may;
}

double seconds_of(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

// SCHED_IDLE lets training steps after a checkpoint take their normal time even without a spare
// core. It is used only if a thread may leave it again (a privilege): otherwise, on a busy machine,
// a background thread could starve while the training waits for it. Without the privilege the
// lowest nice value is used, which still leaves the thread a tenth of a core.
BackgroundPriority::Member::Member(BackgroundPriority& group, const char* name)
    : group_(group), thread_(::pthread_self()) {
  ::pthread_setname_np(thread_, name);
  if (::pthread_getcpuclockid(thread_, &clock_) == 0) {
    const std::lock_guard lock(group_.mutex_);
    group_.clocks_.push_back(clock_);
  }
  static const bool idle = may_leave_idle();
  if (!idle) {
    constexpr int kNice = 10;
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
    return;
  }
  const std::lock_guard lock(group_.mutex_);
  group_.idle_.push_back(thread_);
  // A thread inherits the scheduling policy of the thread that started it, which may be SCHED_IDLE.
  set_policy(thread_, group_.hurries_ > 0 ? SCHED_OTHER : SCHED_IDLE);
}

BackgroundPriority::Member::~Member() {
  const std::lock_guard lock(group_.mutex_);
  std::erase(group_.idle_, thread_);
  if (std::erase(group_.clocks_, clock_) > 0) group_.ended_seconds_ += seconds_of(clock_);
}

double BackgroundPriority::cpu_seconds() const {
  const std::lock_guard lock(mutex_);
  double seconds = ended_seconds_;
  for (const clockid_t clock : clocks_) seconds += seconds_of(clock);
  return seconds;
}

void BackgroundPriority::hurry(int change) {
  const std::lock_guard lock(mutex_);
  const bool hurried = hurries_ > 0;
  hurries_ += change;
  if (hurried == (hurries_ > 0)) return;
  for (const pthread_t thread : idle_) set_policy(thread, hurried ? SCHED_IDLE : SCHED_OTHER);
}

}  // namespace flor::store
