#include "pack/chunk_encoder.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace flor::store {
namespace {

constexpr unsigned kThreadsMax = 64;

// Up to this number of bytes one thread works alone, because waking others would take longer.
constexpr std::size_t kAloneBytes = std::size_t{1} << 20;

/// The largest size of a CodecContext, in bytes.
constexpr std::uint64_t kContextBytesMax = std::uint64_t{8} << 20;

unsigned chosen_threads(unsigned wanted) {
  if (wanted != 0) return std::min(wanted, kThreadsMax);
  return std::clamp(std::thread::hardware_concurrency() / 2, 1u, 4u);
}

}  // namespace

/// The state of one call of `encode`: how its chunks pass through the ring of payloads. A slot
/// belongs to a chunk from when a thread takes the chunk until it was consumed.
class ChunkEncoder::Ring {
 public:
  Ring(ChunkEncoder& encoder, std::span<const NewChunk> chunks, const Consume& consume)
      : encoder_(encoder), chunks_(chunks), consume_(consume) {}

  /// Thread 0 consumes encoded chunks, and encodes while there are none; the others only encode.
  void work(unsigned worker) {
    std::unique_lock lock(mutex_);
    try {
      while (!failed_ && consumed_ < chunks_.size()) {
        if (worker == 0 && slot(consumed_).ready) {
          consume_next(lock);
        } else if (taken_ < chunks_.size() && taken_ < consumed_ + encoder_.ring_.size()) {
          encode_next(encoder_.codecs_[worker], lock);
        } else if (worker != 0 && taken_ == chunks_.size()) {
          return;
        } else {
          changed_.wait(lock);
        }
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      failed_ = true;
      changed_.notify_all();
      throw;
    }
  }

  std::size_t payloads_most() const { return payloads_most_; }

 private:
  Slot& slot(std::size_t chunk) { return encoder_.ring_[chunk % encoder_.ring_.size()]; }

  void consume_next(std::unique_lock<std::mutex>& lock) {
    const NewChunk& chunk = chunks_[consumed_];
    Slot& slot = this->slot(consumed_);
    lock.unlock();
    consume_(chunk, slot.chunk);
    lock.lock();
    slot.ready = false;
    ++consumed_;
    changed_.notify_all();
  }

  void encode_next(CodecContext& codec, std::unique_lock<std::mutex>& lock) {
    const std::size_t chunk = taken_++;
    payloads_most_ = std::max(payloads_most_, taken_ - consumed_);
    lock.unlock();
    encoder_.encode(codec, chunks_[chunk], slot(chunk));
    lock.lock();
    slot(chunk).ready = true;
    if (chunk == consumed_) changed_.notify_all();
  }

  ChunkEncoder& encoder_;
  std::span<const NewChunk> chunks_;
  const Consume& consume_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t taken_ = 0;
  std::size_t consumed_ = 0;
  std::size_t payloads_most_ = 0;
  bool failed_ = false;
};

ChunkEncoder::ChunkEncoder(const WriterOptions& options)
    : pool_(chosen_threads(options.threads), options.priority),
      effort_(options.effort),
      codecs_(pool_.threads()),
      ring_(ring_size(pool_.threads())) {}

std::size_t ChunkEncoder::step_bytes() const {
  return pool_.threads() == 1 ? kChunkBytes : 8 * pool_.threads() * kChunkBytes;
}

void ChunkEncoder::hash(std::span<const std::span<const std::byte>> pieces,
                        std::span<Digest> digests) {
  std::size_t bytes = 0;
  for (const auto piece : pieces) bytes += piece.size();
  const auto hash_one = [&](std::size_t i) { digests[i] = digest_of(pieces[i]); };
  if (bytes > kAloneBytes) {
    pool_.for_each(pieces.size(), hash_one);
  } else {
    for (std::size_t i = 0; i < pieces.size(); ++i) hash_one(i);
  }
}

void ChunkEncoder::encode(std::span<const NewChunk> chunks, const Consume& consume) {
  std::size_t bytes = 0;
  for (const NewChunk& chunk : chunks) bytes += chunk.raw.size();
  for (Slot& slot : ring_) slot.ready = false;  // an exception may have left them set
  Ring ring(*this, chunks, consume);
  if (bytes > kAloneBytes) {
    pool_.run([&](unsigned worker) { ring.work(worker); });
  } else {
    ring.work(0);
  }
  payloads_most_ = std::max(payloads_most_, ring.payloads_most());
}

void ChunkEncoder::encode(CodecContext& codec, const NewChunk& chunk, Slot& slot) const {
  const bool may_use_base = chunk.base && chunk.base->chunk.depth < kDepthMax;
  const Encoded encoded = flor::store::encode(
      codec, effort(), chunk.type, chunk.raw,
      may_use_base ? chunk.base->raw : std::span<const std::byte>(), slot.memory);
  RecordHeader header;
  header.codec = encoded.codec;
  header.type = chunk.type;
  header.uses_base = encoded.uses_base;
  header.raw_bytes = static_cast<std::uint32_t>(chunk.raw.size());
  header.stored_bytes = static_cast<std::uint32_t>(encoded.payload.size());
  header.digest = chunk.digest;
  const bool as_it_is =
      encoded.payload.data() == chunk.raw.data() && encoded.payload.size() == chunk.raw.size();
  header.payload_checksum =
      as_it_is ? checksum(chunk.raw, chunk.digest) : checksum(encoded.payload);
  if (encoded.uses_base) {
    header.depth = static_cast<std::uint8_t>(chunk.base->chunk.depth + 1);
    header.base = chunk.base->digest;
  }
  slot.chunk = {header, encoded.payload};
}

std::uint64_t ChunkEncoder::memory() const {
  std::uint64_t bytes = 0;
  for (const CodecContext& codec : codecs_) bytes += codec.memory();
  for (const Slot& slot : ring_) bytes += slot.memory.capacity();
  return bytes;
}

std::uint64_t ChunkEncoder::memory_max(unsigned threads) {
  // One more payload per thread: for integers the codec encodes in two forms and compares them.
  return threads * kContextBytesMax + ring_size(threads) * std::uint64_t{kPayloadMemoryMax};
}

}  // namespace flor::store
