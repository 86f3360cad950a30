// Streams: sequences of bytes inside a payload, each stored unchanged, as one repeated byte, or as
// a zstd frame. Also the classes that write a payload, and that read one with every bound checked.
#pragma once

#include "base/scratch.h"

#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace flor::store {

/// The kind of a stream's content, which decides how it is compressed.
enum class Texture {
  noise,  ///< parts of floats: only the frequencies of bytes can be exploited
  text,   ///< anything else
};

/// The zstd contexts of a thread, for compressing and decompressing.
class Zstd {
 public:
  Zstd();

  /// Returns the size of the frame, or 0 if it does not fit into `out`.
  std::size_t compress(Texture texture, std::span<const std::uint8_t> in,
                       std::span<std::uint8_t> out);
  /// Throws Damaged unless `frame` holds exactly out.size() bytes.
  void decompress(std::span<const std::uint8_t> frame, std::span<std::uint8_t> out);

  /// Bytes of memory that the contexts hold.
  std::size_t memory() const;

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  ZSTD_CCtx* compressor(Texture texture);

  std::unique_ptr<ZSTD_CCtx, Free> noise_;
  std::unique_ptr<ZSTD_CCtx, Free> text_;
  std::unique_ptr<ZSTD_DCtx, Free> decompressor_;
};

/// Writes a payload into memory that the caller has made large enough.
class PayloadWriter {
 public:
  explicit PayloadWriter(std::uint8_t* out) : begin_(out), at_(out) {}

  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }
  std::uint8_t* position() { return at_; }
  void advance(std::size_t bytes) { at_ += bytes; }

  void bytes(std::span<const std::uint8_t> bytes);
  void length(std::size_t bytes);  ///< 32 bits, little-endian
  /// `compress`: false if the bytes are known to be distributed too evenly for compression.
  void stream(Zstd& zstd, Texture texture, bool compress, std::span<const std::uint8_t> bytes);

  /// The most bytes that `stream` writes for a stream of this length.
  static std::size_t stream_bound(std::size_t bytes) { return bytes + 8; }

 private:
  std::uint8_t* begin_;
  std::uint8_t* at_;
};

/// Reads a payload. Every method throws Damaged if the payload ends too early.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const std::uint8_t> payload) : rest_(payload) {}

  std::size_t left() const { return rest_.size(); }
  std::span<const std::uint8_t> bytes(std::size_t count);
  std::size_t length();
  /// Returns the `count` bytes of a stream. They lie in the payload, or in `scratch`, which must
  /// have room for `count` bytes.
  const std::uint8_t* stream(Zstd& zstd, std::size_t count, std::uint8_t* scratch);
  /// Throws Damaged if bytes of the payload are left.
  void finish() const;

 private:
  std::span<const std::uint8_t> rest_;
};

[[noreturn]] void throw_malformed(const char* what);

}  // namespace flor::store
