// One thread at low priority that does the recorder's work in order, behind the training's back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace flor::detail {

class Background {
 public:
  /// `tick` runs on the thread a few times a second, between jobs. Neither it nor jobs may throw.
  explicit Background(std::function<void()> tick);
  /// Finishes what was posted.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Waits first while very many jobs are unfinished, so that they cannot fill the memory.
  void post(std::function<void()> job);
  /// Returns when everything posted before is done.
  void drain();

  /// While it lives the thread runs at normal priority: somebody is waiting for it, and other
  /// processes may keep the cores busy. Made by the waiting thread.
  class Hurry {
   public:
    explicit Hurry(Background& background) : background_(background) { background_.hurry(+1); }
    ~Hurry() { background_.hurry(-1); }
    Hurry(const Hurry&) = delete;
    Hurry& operator=(const Hurry&) = delete;

   private:
    Background& background_;
  };

  /// Something is queued or being worked on.
  bool busy() const { return unfinished_.load(std::memory_order_acquire) > 0; }
  std::size_t unfinished() const { return unfinished_.load(std::memory_order_acquire); }

 private:
  void run(const std::stop_token& stop);
  void hurry(int change);

  std::function<void()> tick_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> jobs_;
  std::atomic<std::size_t> unfinished_{0};
  std::mutex priority_mutex_;
  int hurries_ = 0;
  bool idle_ = false;    // the thread is at SCHED_IDLE and can leave it
  std::jthread thread_;  // last: it uses the members above
};

}  // namespace flor::detail
