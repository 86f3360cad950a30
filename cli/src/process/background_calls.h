// Runs slow calls, one after another, in a thread of its own.
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

/// Not thread-safe: one thread calls all members. None of them waits, except the destructor.
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

  /// A descriptor that is readable when `take` has a result.
  int descriptor() const { return done_; }
  /// Whether a call was begun whose result has not been taken.
  bool is_busy() const { return result_.valid(); }
  /// Begins a call; must not be busy. Data that the call refers to must live until the result is
  /// taken.
  void begin(std::function<Result()> call) {
    std::packaged_task<Result()> task(std::move(call));
    result_ = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    wake_.notify_one();
  }
  /// The result of the call, or nullopt while it runs. Rethrows what the call threw.
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
      task = {};  // drops the reference: the taking thread frees an exception
      const std::uint64_t one = 1;
      if (::write(done_, &one, sizeof one) < 0) return;  // cannot fail: the counter is 0 after
                                                         // `take`
    }
  }

  int done_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::packaged_task<Result()> task_;  // guarded by mutex_
  std::future<Result> result_;
  std::jthread thread_;
};

}  // namespace flor::cli
