#include "database/manifest.h"

#include "base/little_endian.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace flor::store {

std::vector<std::byte> encode_ids(std::span<const std::uint32_t> ids) {
  std::vector<std::byte> bytes(ids.size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < ids.size(); ++i) put(std::span(bytes).subspan(4 * i), ids[i]);
  return bytes;
}

std::vector<std::uint32_t> decode_ids(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(std::uint32_t) != 0) {
    throw Damaged("a list of chunks in the catalog is cut off: run `flor fsck`");
  }
  std::vector<std::uint32_t> ids;
  ids.reserve(bytes.size() / 4);
  for (; !bytes.empty(); bytes = bytes.subspan(4)) ids.push_back(get<std::uint32_t>(bytes));
  return ids;
}

std::size_t chunk_count(std::uint64_t block_bytes) {
  return static_cast<std::size_t>(block_bytes / kChunkBytes + (block_bytes % kChunkBytes != 0));
}

std::size_t chunk_bytes(std::uint64_t block_bytes, std::size_t index) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kChunkBytes, block_bytes - std::uint64_t{index} * kChunkBytes));
}

Digest manifest_digest(std::span<const std::byte> layout, std::span<const Digest> blocks) {
  std::vector<std::byte> bytes(layout.begin(), layout.end());
  const auto digests = std::as_bytes(blocks);
  bytes.insert(bytes.end(), digests.begin(), digests.end());
  return digest_of(bytes);
}

void check_content(std::span<const std::byte> layout, std::span<const SizedChunk> chunks,
                   const Digest& digest) {
  std::vector<Digest> digests, of_block;
  std::size_t next = 0;
  const Layout described = decode_layout(layout);
  for (const Block& block : described.blocks) {
    of_block.clear();
    const std::size_t count = chunk_count(block.bytes);
    for (std::size_t i = 0; i < count; ++i, ++next) {
      if (next == chunks.size()) throw Damaged("it has too few chunks");
      if (chunks[next].raw_bytes != chunk_bytes(block.bytes, i)) {
        throw Damaged(fmt::format("{} has a chunk of the wrong length", described.title(block)));
      }
      of_block.push_back(chunks[next].digest);
    }
    digests.push_back(item_digest(of_block));
  }
  if (next != chunks.size()) throw Damaged("it has too many chunks");
  if (manifest_digest(layout, digests) != digest) {
    throw Damaged("its digest in the catalog is not that of its items");
  }
}

std::string describe(const CheckpointKey& key) {
  std::string text;
  switch (key.kind) {
    case CheckpointKind::boundary:
      text = fmt::format("boundary {}", key.iteration);
      break;
    case CheckpointKind::step:
      text = fmt::format("step '{}' in iteration {}", key.loop, key.iteration);
      break;
    case CheckpointKind::saved:
      text = fmt::format("saved checkpoint '{}'", key.loop);
      break;
    default:
      text = fmt::format("the end of '{}' in iteration {}", key.loop, key.iteration);
  }
  if (key.main_loop > 0) text += fmt::format(" of main loop {}", key.main_loop);
  return text;
}

std::string describe(const CheckpointKey& key, std::string_view run) {
  return fmt::format("{} of run {}", describe(key), run);
}

}  // namespace flor::store
