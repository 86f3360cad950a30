// A pool of threads that share the work of the thread that calls them.
#pragma once

#include "base/background_priority.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace flor::store {

/// To be used from one thread. After fork() the child may destroy its copy or keep using it: it
/// ignores the threads of the parent, and starts its own when it needs them.
class WorkerPool {
 public:
  /// `threads` includes the calling thread. The other threads are started by the first `run`,
  /// belong to `priority` if it is not null, and end with the pool.
  WorkerPool(unsigned threads, std::shared_ptr<BackgroundPriority> priority);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned threads() const { return threads_; }

  /// Calls `job` in the calling thread as worker 0, and also in each other thread that is ready
  /// before that call returns. Returns when all these calls have returned, and rethrows the first
  /// exception. Every call of `job` must take work until none is left, because possibly only worker
  /// 0 runs.
  void run(const std::function<void(unsigned worker)>& job);

  /// Calls `body(i)` for each i below `count`, in any order and on any thread. After an exception
  /// the remaining calls are skipped, and it is rethrown.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct State;
  void start();
  void stop() noexcept;

  unsigned threads_;
  std::shared_ptr<BackgroundPriority> priority_;
  std::unique_ptr<State> state_;
};

}  // namespace flor::store
