// What the catalog keeps of a checkpoint or an object: the layout (names, types, shapes), the ids
// of its chunks, and the digest over both.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

std::vector<std::byte> encode_layout(std::span<const Item> items);
/// Damaged if the bytes are not what `encode_layout` writes.
std::vector<Item> decode_layout(std::span<const std::byte> bytes);

std::vector<std::byte> encode_ids(std::span<const std::uint32_t> ids);
std::vector<std::uint32_t> decode_ids(std::span<const std::byte> bytes);

/// Number of chunks of an item of that length, and the length of one of them.
std::size_t chunk_count(std::uint64_t item_bytes);
std::size_t chunk_bytes(std::uint64_t item_bytes, std::size_t index);

/// Digest of a layout followed by the digests of the items' contents.
Digest manifest_digest(std::span<const std::byte> layout, std::span<const Digest> items);

struct SizedChunk {
  Digest digest;
  std::uint32_t raw_bytes = 0;
};
/// Damaged unless these chunks, in this order, are all of what the layout describes, and both
/// together have the digest.
void check_content(std::span<const std::byte> layout, std::span<const SizedChunk> chunks,
                   const Digest& digest);

/// "the end of 'train' in iteration 3".
std::string describe(const CheckpointKey& key);
/// "the end of 'train' in iteration 3 of run 0123456789abcdef".
std::string describe(const CheckpointKey& key, std::string_view run);

}  // namespace flor::store
