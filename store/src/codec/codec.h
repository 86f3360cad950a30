// The codec: compresses one chunk of a tensor without loss, using its element type and the same
// chunk of an earlier checkpoint. Pure functions; docs/internals/format-codecs.md specifies the
// bytes.
#pragma once

#include "base/scratch.h"

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace flor::store {

/// Scratch memory and zstd contexts, which are reused for every chunk. Each thread needs its own.
class CodecContext {
 public:
  CodecContext();
  ~CodecContext();
  CodecContext(const CodecContext&) = delete;
  CodecContext& operator=(const CodecContext&) = delete;

  /// Bytes of allocated memory; grows with use, to about 7 MiB.
  std::size_t memory() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// The result of `encode`. `codec` is the number of the payload's form, which is stored next to the
/// payload; docs/internals/format-codecs.md lists the numbers, which are append only.
struct Encoded {
  std::uint8_t codec = 0;
  bool uses_base = false;              ///< decoding needs the same base
  std::span<const std::byte> payload;  ///< either `raw` itself, or in the memory that was passed in
};

/// Encodes `raw` (at most kChunkBytes, not necessarily a multiple of the element size). `base` is
/// the same chunk of an earlier checkpoint, equally long, or empty. It is used only at full effort,
/// and if it saves about 3 % of the size according to a sample. The payload is never longer than
/// `raw`. NaN payloads and -0.0 are preserved. `memory` grows to at most kPayloadMemoryMax bytes.
/// Deterministic: equal arguments give equal payloads.
Encoded encode(CodecContext& context, Effort effort, ElementType type,
               std::span<const std::byte> raw, std::span<const std::byte> base, Scratch& memory);

/// Encodes the whole chunk in every form and returns the shortest result, at about a tenth of the
/// speed of `encode`. `base` is used if it saves 1 %.
Encoded encode_shortest(CodecContext& context, ElementType type, std::span<const std::byte> raw,
                        std::span<const std::byte> base, Scratch& memory);

/// Enough for the bit lengths of half a chunk and all bits of all differences.
inline constexpr std::size_t kPayloadMemoryMax = kChunkBytes + kChunkBytes / 2 + 256;

/// Encodes at full effort and copies the payload to `payload`.
Encoded encode(CodecContext& context, ElementType type, std::span<const std::byte> raw,
               std::span<const std::byte> base, std::vector<std::byte>& payload);

/// Decodes into `raw`, which must have the original length and must not overlap `payload`. `raw`
/// may be `base` itself, but must not overlap it otherwise. Throws Damaged if the payload is
/// malformed; `raw` then holds unspecified bytes. Never reads or writes outside the spans, whatever
/// the payload holds.
void decode(CodecContext& context, std::uint8_t codec, ElementType type,
            std::span<const std::byte> payload, std::span<const std::byte> base,
            std::span<std::byte> raw);

/// Decodes, and returns the digest of `raw`. Faster than two separate calls, because the bytes are
/// hashed while they are in the first-level cache.
Digest decode_and_digest(CodecContext& context, std::uint8_t codec, ElementType type,
                         std::span<const std::byte> payload, std::span<const std::byte> base,
                         std::span<std::byte> raw);

}  // namespace flor::store
