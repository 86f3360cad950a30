// Fuzz target of the codec. Input: a byte that selects, a byte for the element type, two bytes for
// the length of the chunk, then content.
//   selector below 128: the content is a payload of that codec; decoding it may fail with Damaged
//     and must not do anything else.
//   otherwise: the content is a chunk and its base; encoding must be undone exactly.
#include "codec/codec.h"

#include <flor/store/checkpoint.h>
#include <flor/store/error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace flor::fuzz::codec_target {
namespace {

using flor::store::ElementType;

// An allocation of exactly this size, so that the sanitizer sees any access beyond it.
struct Tight {
  explicit Tight(std::size_t bytes) : size(bytes), memory(new std::byte[bytes]()) {}
  std::span<std::byte> span() { return {memory.get(), size}; }

  std::size_t size;
  std::unique_ptr<std::byte[]> memory;
};

Tight tight_copy(std::span<const std::byte> bytes) {
  Tight copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.memory.get());
  return copy;
}

void decode_anything(std::uint8_t codec, ElementType type, std::size_t raw_size,
                     std::span<const std::byte> content) {
  Tight payload = tight_copy(content);
  Tight base(raw_size);
  for (std::size_t i = 0; i < raw_size; ++i) base.memory[i] = static_cast<std::byte>(i * 37 >> 3);
  Tight raw(raw_size);
  flor::store::CodecContext context;
  try {
    flor::store::decode(context, codec, type, payload.span(), base.span(), raw.span());
  } catch (const flor::Damaged&) {
    return;
  }
}

void round_trip(ElementType type, std::size_t raw_size, std::span<const std::byte> content) {
  const std::size_t size = std::min(raw_size, content.size() / 2);
  Tight raw = tight_copy(content.first(size));
  Tight base = tight_copy(content.subspan(content.size() - size));
  std::vector<std::byte> encoded;
  flor::store::CodecContext context;
  const auto result = flor::store::encode(context, type, raw.span(), base.span(), encoded);
  if (encoded.size() > size + 16) std::abort();
  Tight payload = tight_copy(encoded);
  Tight back(size);
  const auto needed = result.uses_base ? base.span() : std::span<std::byte>{};
  flor::store::decode(context, result.codec, type, payload.span(), needed, back.span());
  if (!std::equal(raw.span().begin(), raw.span().end(), back.span().begin())) std::abort();
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const auto type = static_cast<ElementType>(data[1] % 14);  // one is unknown
  const std::size_t raw_size = data[2] + 256U * data[3];
  const std::span content(reinterpret_cast<const std::byte*>(data) + 4, size - 4);
  if (data[0] < 128) {
    decode_anything(data[0] % 12, type, raw_size % 20000, content);
  } else {
    round_trip(static_cast<ElementType>(data[1] % 13), raw_size, content);
  }
  return 0;
}

}  // namespace flor::fuzz::codec_target
