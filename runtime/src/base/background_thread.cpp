#include "base/background_thread.h"

#include "base/signals_blocked.h"

#include <chrono>
#include <utility>

namespace flor::detail {
namespace {

constexpr std::size_t kUnfinishedMax = 1000;
constexpr auto kTick = std::chrono::milliseconds(200);

}  // namespace

Background::Background(std::shared_ptr<store::BackgroundPriority> priority,
                       std::function<void()> tick, const char* name)
    : priority_(std::move(priority)), tick_(std::move(tick)), name_(name) {
  const store::SignalsBlocked inherited_by_the_thread;
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

void Background::drain() {
  const Hurry hurry(*this);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy(); });
}

void Background::run(const std::stop_token& stop) {
  const store::BackgroundPriority::Member member(*priority_, name_);
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
      job = nullptr;  // destroys its captures before it counts as done
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
