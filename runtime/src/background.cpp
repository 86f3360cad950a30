#include "background.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <utility>

namespace flor::detail {
namespace {

constexpr auto kTick = std::chrono::milliseconds(200);

/// SCHED_IDLE: the steps after a checkpoint keep their normal length even without a spare core.
/// When the training thread has to wait for this one, its core is free, so nothing starves.
void become_background() {
  const sched_param parameters{};
  ::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &parameters);
  ::pthread_setname_np(::pthread_self(), "flor-writer");
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
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    unfinished_.fetch_add(1, std::memory_order_release);
  }
  changed_.notify_all();
}

void Background::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy(); });
}

void Background::run(const std::stop_token& stop) {
  become_background();
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
