// Runs calls that take long, one after another, in a thread of its own.
#pragma once

#include <flor/store/error.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace flor::cli {

/// Not thread-safe: one thread makes all calls, and never waits, except in the destructor.
template <typename Result>
class Background {
 public:
  Background() : done_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (done_ < 0) throw Error("no descriptors are left: raise the limit (ulimit -n)");
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  /// Waits for the running call to end.
  ~Background() {
    thread_.request_stop();
    thread_.join();
    ::close(done_);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// Readable when there is something to take.
  int descriptor() const { return done_; }
  /// Whether a call was begun whose result was not taken.
  bool is_busy() const { return result_.valid(); }
  /// Begins a call, if not busy. Data that it refers to must stay until the result is taken.
  void begin(std::function<Result()> call) {
    std::packaged_task<Result()> task(std::move(call));
    result_ = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    wake_.notify_one();
  }
  /// The result; nothing while the call runs. Throws what the call has thrown.
  std::optional<Result> take() {
    std::uint64_t count = 0;
    if (::read(done_, &count, sizeof count) < 0) return std::nullopt;
    return result_.get();
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!wake_.wait(lock, stop, [this] { return task_.valid(); })) return;
      std::packaged_task<Result()> task = std::exchange(task_, {});
      lock.unlock();
      task();
      task = {};  // its exception must end in the thread that takes it
      const std::uint64_t one = 1;
      if (::write(done_, &one, sizeof one) < 0) return;  // cannot be: the last was taken
    }
  }

  int done_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::packaged_task<Result()> task_;  // under the mutex
  std::future<Result> result_;
  std::jthread thread_;
};

}  // namespace flor::cli
