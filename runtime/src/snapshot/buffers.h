// Host memory that snapshots are copied into, used again and again: fresh memory costs seven times
// a copy into memory that has been touched before.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace flor::detail {

/// Thread-safe. Buffers return by themselves when their last reference goes, also after the pool.
class BufferPool {
 public:
  BufferPool();

  /// A buffer of exactly this size. `pinned`: allocated by the adapter for asynchronous copies.
  std::shared_ptr<std::byte> acquire(std::size_t bytes, bool pinned);

  /// Makes sure that there are `count` free, touched buffers of this size.
  void prepare(std::size_t bytes, std::size_t count, bool pinned = false);

  /// Returns free buffers beyond `bytes` in all to the system, those whose size was asked for
  /// longest ago first.
  void keep_at_most(std::uint64_t bytes);

  /// Bytes handed out and not yet returned.
  std::uint64_t in_use() const;

  /// Blocks while more than `limit` bytes are in use and `others_work()` holds, that is, while
  /// waiting can help.
  void wait_below(std::uint64_t limit, const std::function<bool()>& others_work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flor::detail
