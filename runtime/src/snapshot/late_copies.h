// Late copies: content of a snapshot that is compared and copied after the snapshot was taken.
#pragma once

#include "snapshot/buffers.h"

#include <flor/state.h>
#include <flor/store/checkpoint.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flor::detail {

/// Smaller tensors are copied at once, which takes less time than watching them for writes.
inline constexpr std::size_t kLateBytes = std::size_t{64} << 10;

/// Tells whether a tensor was written, by its version and by samples of its content. A write
/// through a raw pointer does not change the version, but a write to the whole tensor hardly leaves
/// all samples equal.
class Witness {
 public:
  /// `bytes` must be at least kLateBytes.
  Witness(const std::byte* content, std::size_t bytes, std::shared_ptr<WriteWatch> watch);
  bool moved() const;
  /// Whether both witness the same memory, and its version shows no write in between.
  bool same_version(const Witness& other) const;

 private:
  static constexpr std::size_t kSamples = 8;
  std::array<std::uint64_t, kSamples> look() const;

  const std::byte* content_;
  std::size_t bytes_;
  std::shared_ptr<WriteWatch> watch_;
  std::uint64_t version_;
  std::array<std::uint64_t, kSamples> samples_;
};

/// The late copy of one tensor. Made by the session's thread, and copied by the first thread that
/// is free.
class LateItem {
 public:
  /// `before` or `last` may be null. They are content that may be equal, so that no new memory is
  /// needed.
  LateItem(const store::Item& item, const TensorSource& source, std::shared_ptr<LateItem> before,
           store::Content last);

  /// Copies the tensor, unless another thread has begun to.
  void copy(BufferPool& buffers);
  void wait() const;
  bool done() const { return stage_.load(std::memory_order_acquire) >= kCopied; }
  bool failed() const { return stage_.load(std::memory_order_acquire) == kFailed; }
  /// To be called only when done() is true.
  const store::Content& content() const { return content_; }

  const std::string& name() const { return name_; }
  std::size_t bytes() const { return bytes_; }
  const Witness& witness() const { return witness_; }

 private:
  enum Stage : int { kWaiting, kBegun, kCopied, kFailed };

  std::string name_;
  const std::byte* from_;
  std::size_t bytes_;
  Witness witness_;
  std::shared_ptr<LateItem> before_;  // null once it is done
  store::Content last_;
  store::Content content_;
  std::atomic<int> stage_{kWaiting};
};

/// The late copies of one snapshot. `add` and `deliver` are for the session's thread.
class LateCopies {
 public:
  explicit LateCopies(BufferPool& buffers) : buffers_(buffers) {}

  /// Promises that the content of `snapshot.items[index]` will be that of `item`, which may belong
  /// to an earlier snapshot. `expected` is how many bytes of new memory it will probably need.
  void add(std::size_t index, std::shared_ptr<LateItem> item, std::size_t expected);
  bool empty() const { return entries_.empty(); }
  std::uint64_t expected() const { return expected_; }

  void run();  ///< copies items that no thread has begun
  void wait();
  bool complete() const;
  /// The first tensor that was written since the snapshot was taken, or null.
  const LateItem* find_moved() const;
  /// The first tensor for whose copy there was no memory, or null.
  const LateItem* find_failed() const;
  void deliver(store::Snapshot& snapshot) const;

 private:
  struct Entry {
    std::size_t index;
    std::shared_ptr<LateItem> item;
  };
  BufferPool& buffers_;
  std::vector<Entry> entries_;
  std::uint64_t expected_ = 0;
};

}  // namespace flor::detail
