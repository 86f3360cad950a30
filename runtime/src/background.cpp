#include "background.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace flor::detail {
namespace {

constexpr std::size_t kUnfinishedMax = 1000;
constexpr auto kTick = std::chrono::milliseconds(200);

bool set_policy(pthread_t thread, int policy) {
  const sched_param parameters{};
  return ::pthread_setschedparam(thread, policy, &parameters) == 0;
}

/// Tried on a thread of its own, since one that may not leave is stuck.
bool may_leave_idle() {
  bool may = false;
  try {
    std::thread([&may] {
      may = set_policy(::pthread_self(), SCHED_IDLE) && set_policy(::pthread_self(), SCHED_OTHER);
    }).join();
  } catch (const std::system_error&) {  // no thread to be had
  }
  return may;
}

/// SCHED_IDLE keeps the steps after a checkpoint at their normal length even without a spare core.
/// Without the privilege to leave it again a thread could starve on a busy machine while the
/// training waits for it; then a nice value, which leaves it a tenth of a core, is as low as it may
/// go. True: SCHED_IDLE.
bool become_background() {
  ::pthread_setname_np(::pthread_self(), "flor-writer");
  if (may_leave_idle()) return set_policy(::pthread_self(), SCHED_IDLE);
  constexpr int kNice = 10;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  return false;
}

/// Signals belong to the program's own threads.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Background::Background(std::function<void()> tick) : tick_(std::move(tick)) {
  const BlockSignals inherited_by_the_thread;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Background::~Background() {
  drain();
  thread_.request_stop();
  changed_.notify_all();
}

void Background::post(std::function<void()> job) {
  if (unfinished() >= kUnfinishedMax) {
    const Hurry hurry(*this);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unfinished() < kUnfinishedMax; });
  }
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    unfinished_.fetch_add(1, std::memory_order_release);
  }
  changed_.notify_all();
}

void Background::hurry(int change) {
  const std::lock_guard lock(priority_mutex_);
  const bool hurried = hurries_ > 0;
  hurries_ += change;
  if (idle_ && hurried != (hurries_ > 0)) {
    set_policy(thread_.native_handle(), hurried ? SCHED_IDLE : SCHED_OTHER);
  }
}

void Background::drain() {
  const Hurry hurry(*this);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy(); });
}

void Background::run(const std::stop_token& stop) {
  {
    const std::lock_guard lock(priority_mutex_);
    idle_ = become_background();
  }
  auto next_tick = std::chrono::steady_clock::now() + kTick;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (jobs_.empty()) {
      changed_.wait_until(lock, stop, next_tick, [this] { return !jobs_.empty(); });
    }
    if (!jobs_.empty()) {
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;  // what it holds goes before it counts as done
      lock.lock();
      unfinished_.fetch_sub(1, std::memory_order_release);
      changed_.notify_all();
    }
    if (std::chrono::steady_clock::now() >= next_tick) {
      lock.unlock();
      tick_();
      lock.lock();
      next_tick = std::chrono::steady_clock::now() + kTick;
    }
  }
}

}  // namespace flor::detail
