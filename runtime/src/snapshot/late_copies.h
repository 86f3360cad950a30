// Content of a snapshot that is compared and copied after the call that took the snapshot.
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

/// Smaller tensors are copied at once: that takes less time than watching them.
inline constexpr std::size_t kLateBytes = std::size_t{64} << 10;

/// Shows whether a tensor was written. Writes through raw pointers move no version, but one that
/// goes over the whole tensor hardly leaves all the samples as they were.
class Witness {
 public:
  /// `bytes` >= kLateBytes.
  Witness(const std::byte* content, std::size_t bytes, std::shared_ptr<WriteWatch> watch);
  bool moved() const;
  /// The same memory, not written in between as far as versions tell.
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

/// One tensor. Made by the session's thread, copied by the first thread that gets to it.
class LateItem {
 public:
  /// `before` or `last`, if any: content that may be equal, so that it needs no memory of its own.
  LateItem(const store::Item& item, const TensorSource& source, std::shared_ptr<LateItem> before,
           store::Content last);

  /// Does the work unless another thread has begun it.
  void copy(BufferPool& buffers);
  void wait() const;
  bool done() const { return stage_.load(std::memory_order_acquire) >= kCopied; }
  bool failed() const { return stage_.load(std::memory_order_acquire) == kFailed; }
  /// When it is done.
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
  std::shared_ptr<LateItem> before_;  // until it is done
  store::Content last_;
  store::Content content_;
  std::atomic<int> stage_{kWaiting};
};

/// Those of one snapshot. `add` and `deliver` are for the session's thread.
class LateCopies {
 public:
  explicit LateCopies(BufferPool& buffers) : buffers_(buffers) {}

  /// The content of `snapshot.items[index]` will be that of `item`, which may belong to an earlier
  /// snapshot, too. `expected`: bytes of new memory that it will probably take.
  void add(std::size_t index, std::shared_ptr<LateItem> item, std::size_t expected);
  bool empty() const { return entries_.empty(); }
  std::uint64_t expected() const { return expected_; }

  void run();  ///< copies items that no thread has begun
  void wait();
  bool complete() const;
  /// The first tensor that was written since the snapshot, or null.
  const LateItem* find_moved() const;
  /// The first whose copy found no memory, or null.
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
