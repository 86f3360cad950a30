#include "pack/decode_chunks.h"

#include "base/signals_blocked.h"
#include "pack/read_ahead.h"

#include <flor/store/error.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace flor::store {
namespace {

constexpr unsigned kDecodersMax = 8;

/// Returns how many threads to use. Starting one costs as much as decoding some hundred KiB.
unsigned threads_for(std::uint64_t bytes, unsigned wanted) {
  constexpr std::uint64_t kBytesPerThread = std::uint64_t{2} << 20;
  constexpr std::uint64_t kMost = 64;
  if (wanted == 0) wanted = std::clamp(std::thread::hardware_concurrency(), 1U, kDecodersMax);
  return std::min(wanted, static_cast<unsigned>(std::min(bytes / kBytesPerThread + 1, kMost)));
}

/// Decodes the trees of a plan on one thread, with memory of its own.
class TreeDecoder {
 public:
  TreeDecoder(const ChunkReader& chunks, const DecodePlan& plan, DecodeScratch& scratch,
              const Explain& explain)
      : chunks_(chunks), plan_(plan), scratch_(scratch), explain_(explain) {}

  void run(const DecodeTree& tree) {
    places_.assign(tree.end - tree.begin, {});
    for (std::size_t i = tree.begin; i < tree.end; ++i) {
      const DecodeStep& step = plan_.steps()[i];
      try {
        run(tree, i);
      } catch (...) {
        explain_(task_of(tree, i), std::current_exception());
        throw;  // not reached if `explain_` throws, as it should
      }
      if (step.base != DecodeStep::kNone) release(tree, step.base);
    }
  }

 private:
  struct Place {
    std::span<std::byte> raw;
    std::vector<std::byte> buffer;  ///< used if the chunk has no destination
    std::size_t dependents_left = 0;
  };

  Place& place(const DecodeTree& tree, std::size_t step) { return places_[step - tree.begin]; }

  void run(const DecodeTree& tree, std::size_t index) {
    const DecodeStep& step = plan_.steps()[index];
    Place& here = place(tree, index);
    here.dependents_left = step.dependents;
    here.raw = memory_for(tree, index);
    std::span<const std::byte> base;
    if (step.base != DecodeStep::kNone) base = place(tree, step.base).raw;
    if (step.tasks.empty()) {
      // Not verified: a wrong result would show in the chunks that build on this one.
      chunks_.decode_record(scratch_, *step.row, base, here.raw);
      return;
    }
    bool right = false;
    try {
      right = chunks_.decode_and_verify(scratch_, *step.row, base, here.raw);
    } catch (const PackMissing&) {
      throw;
    } catch (const Damaged&) {  // treated as a wrong result
    }
    // Decodes again step by step, which throws Damaged with the name of the faulty record.
    if (!right) chunks_.read(scratch_, step.row->id, here.raw);
    for (const Task& task : step.tasks.subspan(1)) {
      std::memcpy(task.raw.data(), here.raw.data(), here.raw.size());
    }
  }

  std::span<std::byte> memory_for(const DecodeTree& tree, std::size_t index) {
    const DecodeStep& step = plan_.steps()[index];
    if (!step.tasks.empty()) return step.tasks.front().raw;
    if (step.memory_of != DecodeStep::kNone) {
      const std::size_t owner = step.memory_of;
      const DecodeStep& last = plan_.steps()[owner];
      if (!last.tasks.empty()) return last.tasks.front().raw;
      return buffer_for(tree, owner);
    }
    return buffer_for(tree, index);
  }

  std::span<std::byte> buffer_for(const DecodeTree& tree, std::size_t owner) {
    Place& here = place(tree, owner);
    if (here.buffer.empty() && !scratch_.unused.empty()) {
      here.buffer = std::move(scratch_.unused.back());
      scratch_.unused.pop_back();
    }
    const std::size_t size = plan_.steps()[owner].row->raw_bytes;
    if (here.buffer.size() < size) here.buffer.resize(size);
    return std::span(here.buffer).first(size);
  }

  void release(const DecodeTree& tree, std::size_t base) {
    Place& there = place(tree, base);
    if (--there.dependents_left != 0 || there.buffer.empty()) return;
    scratch_.unused.push_back(std::move(there.buffer));
    there.buffer.clear();
  }

  /// Returns a task that needs the step: its own, or the nearest one that builds on it.
  const Task& task_of(const DecodeTree& tree, std::size_t step) const {
    while (step + 1 < tree.end && plan_.steps()[step].tasks.empty()) ++step;
    return plan_.steps()[step].tasks.front();
  }

  const ChunkReader& chunks_;
  const DecodePlan& plan_;
  DecodeScratch& scratch_;
  const Explain& explain_;
  std::vector<Place> places_;
};

/// The trees of a plan, shared by the threads that decode them.
class Work {
 public:
  Work(const ChunkReader& chunks, const DecodePlan& plan, DecodeScratchPool& pool,
       const Explain& explain)
      : chunks_(chunks), plan_(plan), pool_(pool), explain_(explain) {}

  void run() {
    try {
      DecodeScratchPool::Lease scratch(pool_);
      TreeDecoder decoder(chunks_, plan_, *scratch, explain_);
      for (std::size_t i = take(); i < plan_.trees().size(); i = take()) {
        decoder.run(plan_.trees()[i]);
      }
    } catch (...) {
      next_ = plan_.trees().size();  // makes the other threads stop
      next_.notify_all();
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  const std::atomic<std::size_t>& next() const { return next_; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::size_t take() {
    const std::size_t tree = next_++;
    next_.notify_all();
    return tree;
  }

  const ChunkReader& chunks_;
  const DecodePlan& plan_;
  DecodeScratchPool& pool_;
  const Explain& explain_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr error_;  ///< the first one
};

/// Less data is read before a read-ahead thread would start to run.
constexpr std::uint64_t kReadAheadBytes = std::uint64_t{2} << 20;

}  // namespace

void restore(const ChunkReader& chunks, std::vector<Task> tasks, DecodeScratchPool& pool,
             unsigned threads, const Explain& explain) {
  const DecodePlan plan(chunks, std::move(tasks));
  Work work(chunks, plan, pool, explain);
  {
    std::optional<ReadAhead> read_ahead;
    std::vector<std::thread> helpers;
    try {
      const SignalsBlocked inherited_by_the_threads;
      if (plan.raw_bytes() >= kReadAheadBytes) read_ahead.emplace(chunks, plan, work.next());
      for (unsigned i = 1; i < threads_for(plan.raw_bytes(), threads); ++i) {
        helpers.emplace_back([&work] { work.run(); });
      }
    } catch (const std::system_error&) {
      // No more threads can be started; the existing ones do the work.
    }
    work.run();
    for (std::thread& helper : helpers) helper.join();
  }
  work.rethrow();
}

}  // namespace flor::store
