// Threads that help the calling one with its work.
#pragma once

#include "base/background_priority.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace flor::store {

/// Used by one thread. After fork() a child may destroy it or keep using it; the threads exist in
/// the parent only, and are neither waited for nor missed.
class WorkerPool {
 public:
  /// `threads` counts the calling one. The others are started by the first `run`, belong to
  /// `priority` if that is not null, and end with the pool.
  WorkerPool(unsigned threads, std::shared_ptr<BackgroundPriority> priority);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  unsigned threads() const { return threads_; }

  /// Calls `job` in the calling thread, as worker 0, and in those of the other threads that get to
  /// it before that call returns. Returns when all these calls have; rethrows the first exception.
  /// One thread must be able to do the whole job, since the others may not exist, or get a core.
  void run(const std::function<void(unsigned worker)>& job);

  /// body(i) for each i below `count`, in any order and thread. After an exception the rest is left
  /// out.
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
