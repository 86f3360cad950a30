// Hashes and encodes chunks on several threads and hands them on in their order.
#pragma once

#include "base/worker_pool.h"
#include "codec/codec.h"
#include "pack/pack_record.h"

#include <flor/store/checkpoint.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace flor::store {

/// Longest chain of differences: a chunk at depth 4 needs four others decoded before it. Measured
/// on a transformer with Adam, depth 4 restores at 1.5 GB/s a core on average and 8 at 0.87, for a
/// further gain of 0.5 % in size; 0 restores at 3.5 and costs 2 %.
inline constexpr std::uint8_t kDepthMax = 4;

/// A chunk that is stored; `id` is its row in the catalog, 0 if unknown.
struct StoredChunk {
  std::uint32_t id = 0;
  std::uint8_t depth = 0;
  bool foreign = false;  ///< its record came from elsewhere
  /// Its record, and all that it builds upon, was written by this process for this run: no other
  /// process gives those another depth.
  bool own = false;
};

/// A chunk that is not stored yet.
struct NewChunk {
  struct Base {
    StoredChunk chunk;
    Digest digest;
    std::span<const std::byte> raw;
  };

  Digest digest;
  std::span<const std::byte> raw;
  ElementType type = ElementType::bytes;
  std::optional<Base> base;  ///< it may be stored as the difference to this
  bool replaces = false;     ///< a record that came from elsewhere
};

/// A chunk in the form in which it is appended to a pack.
struct EncodedChunk {
  RecordHeader header;
  std::span<const std::byte> payload;
};

/// Used by one thread, except for the effort.
class ChunkEncoder {
 public:
  /// options.threads may be 0.
  explicit ChunkEncoder(const WriterOptions& options);

  void set_effort(Effort effort) noexcept { effort_.store(effort, std::memory_order_relaxed); }
  Effort effort() const noexcept { return effort_.load(std::memory_order_relaxed); }

  /// Bytes of content that are best hashed and then encoded before the next ones are looked at: few
  /// enough for the caches, and enough to keep all threads at work.
  std::size_t step_bytes() const;

  /// digests[i] becomes the digest of pieces[i]: as many of the one as of the other.
  void hash(std::span<const std::span<const std::byte>> pieces, std::span<Digest> digests);

  /// Calls `consume` in the calling thread for each chunk, in their order, with an encoded chunk
  /// that is valid until it returns. While one is consumed the other threads continue, as far as
  /// the ring of payloads has room.
  using Consume = std::function<void(const NewChunk&, const EncodedChunk&)>;
  void encode(std::span<const NewChunk> chunks, const Consume& consume);

  /// Bytes of memory that it holds.
  std::uint64_t memory() const;
  static std::uint64_t memory_max(unsigned threads);

  /// Payloads that may exist at once.
  static std::size_t ring_size(unsigned threads) { return threads == 1 ? 1 : 2 * threads; }
  /// The most that have existed at once.
  std::size_t payloads_most() const { return payloads_most_; }

 private:
  class Ring;
  struct Slot {
    Scratch memory;
    EncodedChunk chunk;
    bool ready = false;
  };

  void encode(CodecContext& codec, const NewChunk& chunk, Slot& slot) const;

  WorkerPool pool_;
  std::atomic<Effort> effort_;
  std::vector<CodecContext> codecs_;  ///< one for each thread
  std::vector<Slot> ring_;
  std::size_t payloads_most_ = 0;
};

}  // namespace flor::store
