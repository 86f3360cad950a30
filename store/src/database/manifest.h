// How the catalog stores the description of a checkpoint or an object: its layout (names, types,
// shapes), the ids of its chunks, and the digest of both.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Items that share chunks: a single item, or a slab of several consecutive ones.
struct Block {
  std::size_t first = 0;    ///< index of its first item
  std::size_t count = 1;    ///< number of its items
  std::uint64_t bytes = 0;  ///< length of all its items
};

struct Layout {
  std::vector<Item> items;
  std::vector<Block> blocks;  ///< in order; together they cover all items

  std::span<const Item> items_of(const Block& block) const {
    return std::span(items).subspan(block.first, block.count);
  }
  /// Names a block in messages: "'sum'", or "'sum' and 99 that follow".
  std::string title(const Block& block) const;
};

/// Returns the type that all items have, or `bytes` if they differ.
ElementType common_type(std::span<const Item> items);

/// Encode a layout, given as the items of each block. A layout without slabs is encoded as in
/// stores that were written before slabs existed.
std::vector<std::byte> encode_layout(std::span<const std::span<const Item>> blocks);
std::vector<std::byte> encode_layout(const Snapshot& snapshot);
std::vector<std::byte> encode_layout(const Item& object);
/// Throws Damaged if the bytes are not a layout.
Layout decode_layout(std::span<const std::byte> bytes);

std::vector<std::byte> encode_ids(std::span<const std::uint32_t> ids);
std::vector<std::uint32_t> decode_ids(std::span<const std::byte> bytes);

/// Number of chunks of a block of this length, and the length of the chunk with this index.
std::size_t chunk_count(std::uint64_t block_bytes);
std::size_t chunk_bytes(std::uint64_t block_bytes, std::size_t index);

/// Digest of an encoded layout followed by the digests of its blocks.
Digest manifest_digest(std::span<const std::byte> layout, std::span<const Digest> blocks);

struct SizedChunk {
  Digest digest;
  std::uint32_t raw_bytes = 0;
};
/// Throws Damaged unless these chunks, in this order, are exactly the content that the layout
/// describes, and layout and content together have this digest.
void check_content(std::span<const std::byte> layout, std::span<const SizedChunk> chunks,
                   const Digest& digest);

/// Returns a text such as "the end of 'train' in iteration 3".
std::string describe(const CheckpointKey& key);
/// Returns a text such as "the end of 'train' in iteration 3 of run 0123456789abcdef".
std::string describe(const CheckpointKey& key, std::string_view run);

}  // namespace flor::store
