// A thread at low priority that executes the recorder's jobs in order.
#pragma once

#include "base/background_priority.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace flor::detail {

class Background {
 public:
  /// `tick` runs on the thread a few times a second, between jobs. Neither `tick` nor jobs may
  /// throw. The thread joins the threads of `priority`. `name` is the thread's name, at most 15
  /// characters.
  Background(std::shared_ptr<store::BackgroundPriority> priority, std::function<void()> tick,
             const char* name = "flor-writer");
  /// Finishes the posted jobs, then ends the thread.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Queues a job. Blocks while very many jobs are unfinished, so that they cannot fill the memory.
  void post(std::function<void()> job);
  /// Returns when all jobs posted before are done.
  void drain();

  /// While a Hurry exists, all background threads run at normal priority. To be used by a thread
  /// that waits for them.
  class Hurry {
   public:
    explicit Hurry(Background& background) : hurry_(*background.priority_) {}

   private:
    store::BackgroundPriority::Hurry hurry_;
  };

  /// Whether a job is queued or running.
  bool busy() const { return unfinished_.load(std::memory_order_acquire) > 0; }
  std::size_t unfinished() const { return unfinished_.load(std::memory_order_acquire); }

 private:
  void run(const std::stop_token& stop);

  std::shared_ptr<store::BackgroundPriority> priority_;
  std::function<void()> tick_;
  const char* name_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> jobs_;
  std::atomic<std::size_t> unfinished_{0};
  std::jthread thread_;  // last, since the thread uses the members above
};

}  // namespace flor::detail
