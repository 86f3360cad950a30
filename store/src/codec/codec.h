// The codec: turns one chunk of a tensor into fewer bytes and back, exactly, using its element type
// and its predecessor. Pure functions over memory; docs/internals/format-codecs.md specifies the
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

/// Scratch memory and zstd contexts, reused from chunk to chunk. One per thread.
class CodecContext {
 public:
  CodecContext();
  ~CodecContext();
  CodecContext(const CodecContext&) = delete;
  CodecContext& operator=(const CodecContext&) = delete;

  /// Bytes that it holds; grows to about 7 MiB with use.
  std::size_t memory() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// The result of `encode`. `codec` names the form of the payload and is stored beside it; the
/// values are listed in docs/internals/format-codecs.md and are append only.
struct Encoded {
  std::uint8_t codec = 0;
  bool uses_base = false;              ///< decoding needs the same base
  std::span<const std::byte> payload;  ///< `raw` itself, or in the memory that was given
};

/// Encodes `raw` (at most kChunkBytes). `base` is the same chunk of an earlier checkpoint, equally
/// long, or empty; it is used only at full effort and where that pays by about 3 % of the direct
/// size, as judged from a sample. The payload is never longer than raw.size(). NaN payloads and
/// -0.0 come back bit for bit. `raw` need not be a multiple of the element size. `memory` grows to
/// at most kPayloadMemoryMax bytes. Deterministic: the same arguments give the same payload.
Encoded encode(CodecContext& context, Effort effort, ElementType type,
               std::span<const std::byte> raw, std::span<const std::byte> base, Scratch& memory);

/// The shortest of all forms, each tried on the whole chunk: a tenth as fast as `encode`. A base is
/// used where it saves a hundredth.
Encoded encode_shortest(CodecContext& context, ElementType type, std::span<const std::byte> raw,
                        std::span<const std::byte> base, Scratch& memory);

/// Enough for half a chunk of bit lengths in addition to all bits of all differences.
inline constexpr std::size_t kPayloadMemoryMax = kChunkBytes + kChunkBytes / 2 + 256;

/// The same at full effort, the payload copied to `payload`.
Encoded encode(CodecContext& context, ElementType type, std::span<const std::byte> raw,
               std::span<const std::byte> base, std::vector<std::byte>& payload);

/// Decodes into `raw`, which has the original length and does not overlap `payload`; it may be
/// `base` itself, or else does not overlap that either. On an exception `raw` holds unspecified
/// bytes. Throws Damaged for a payload that is not well-formed, and never reads or writes outside
/// the spans, whatever the payload holds.
void decode(CodecContext& context, std::uint8_t codec, ElementType type,
            std::span<const std::byte> payload, std::span<const std::byte> base,
            std::span<std::byte> raw);

/// The same, and the digest of `raw` then. Cheaper than one after the other, since the bytes are
/// taken where they are still in the first-level cache.
Digest decode_and_digest(CodecContext& context, std::uint8_t codec, ElementType type,
                         std::span<const std::byte> payload, std::span<const std::byte> base,
                         std::span<std::byte> raw);

}  // namespace flor::store
