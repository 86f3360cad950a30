// Host memory that snapshots are copied into. It is reused, since copying into fresh memory takes
// seven times as long as into memory that was touched before.
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

/// A pool of reusable buffers. Thread-safe. A buffer returns to the pool when its last reference is
/// gone; it may outlive the pool.
class BufferPool {
 public:
  BufferPool();

  /// A buffer of exactly this size. `pinned`: allocated by the adapter, for asynchronous copies.
  std::shared_ptr<std::byte> acquire(std::size_t bytes, bool pinned);

  /// Makes sure that `count` free buffers of this size exist whose memory has been touched.
  void prepare(std::size_t bytes, std::size_t count, bool pinned = false);

  /// Limits the total size of free buffers to `bytes`. Excess buffers are returned to the system,
  /// beginning with the sizes that have not been requested for longest.
  void keep_at_most(std::uint64_t bytes);

  /// Bytes that are handed out and not yet returned.
  std::uint64_t in_use() const;

  /// Blocks while more than `limit` bytes are in use and `others_work()` is true, which says that
  /// waiting can help.
  void wait_below(std::uint64_t limit, const std::function<bool()>& others_work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flor::detail
