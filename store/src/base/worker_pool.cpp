#include "base/worker_pool.h"

#include "base/signals_blocked.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace flor::store {

struct WorkerPool::State {
  void work(unsigned worker, BackgroundPriority* priority);
  void keep_first(std::exception_ptr thrown) {
    if (!error) error = std::move(thrown);
  }

  const pid_t owner = ::getpid();
  std::mutex mutex;
  std::condition_variable changed;   ///< signals a new job, or the end of the pool
  std::condition_variable finished;  ///< signals that no worker is working
  const std::function<void(unsigned)>* job = nullptr;
  std::uint64_t jobs = 0;  ///< number of jobs so far
  unsigned working = 0;
  bool ending = false;
  std::exception_ptr error;
  std::vector<std::thread> threads;
};

void WorkerPool::State::work(unsigned worker, BackgroundPriority* priority) {
  std::optional<BackgroundPriority::Member> member;
  if (priority) member.emplace(*priority, "flor-encoder");
  std::uint64_t done = 0;
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ending || (job && jobs != done); });
    if (ending) return;
    done = jobs;
    const auto& present = *job;
    ++working;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      present(worker);
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    if (thrown) keep_first(std::move(thrown));
    if (--working == 0) finished.notify_all();
  }
}

WorkerPool::WorkerPool(unsigned threads, std::shared_ptr<BackgroundPriority> priority)
    : threads_(threads), priority_(std::move(priority)) {}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() noexcept {
  if (!state_) return;
  if (state_->owner != ::getpid()) {
    // In a child of fork() a thread that exists only in the parent may hold the mutex, so the state
    // is leaked.
    (void)state_.release();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  state_.reset();
}

void WorkerPool::start() {
  if (state_ && state_->owner != ::getpid()) stop();
  if (state_) return;
  state_ = std::make_unique<State>();
  const SignalsBlocked inherited_by_the_threads;
  try {
    state_->threads.reserve(threads_);
    for (unsigned worker = 1; worker < threads_; ++worker) {
      state_->threads.emplace_back([state = state_.get(), worker, priority = priority_] {
        state->work(worker, priority.get());
      });
    }
  } catch (const std::system_error&) {  // no more threads: those that exist do the work
  }
}

void WorkerPool::run(const std::function<void(unsigned)>& job) {
  start();
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    state.job = &job;
    ++state.jobs;
    state.error = nullptr;
  }
  state.changed.notify_all();
  std::exception_ptr thrown;
  try {
    job(0);
  } catch (...) {
    thrown = std::current_exception();
  }
  std::unique_lock lock(state.mutex);
  state.job = nullptr;  // workers that have not begun by now are not needed
  state.finished.wait(lock, [&] { return state.working == 0; });
  if (thrown) state.keep_first(std::move(thrown));
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

void WorkerPool::for_each(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  run([&](unsigned) {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      next = count;
      throw;
    }
  });
}

}  // namespace flor::store
