// Fuzz target of the catalog's blobs: layouts, lists of chunks, and what fsck and repair make of
// both together. Input: a byte that selects, then the blob.
//   0: a layout; 1: a list of chunks; 2: both, as a checkpoint: two bytes for the length of the
//   layout, the layout, the list.
#include "base/little_endian.h"
#include "database/manifest.h"
#include "maintain/row_finder.h"

#include <flor/store/error.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <vector>

namespace flor::fuzz::blob_target {
namespace {

using namespace flor::store;

void require(bool condition) {
  if (!condition) std::abort();
}

void try_layout(std::span<const std::byte> blob) {
  const Layout layout = decode_layout(blob);
  std::vector<std::span<const Item>> blocks;
  for (const Block& block : layout.blocks) blocks.push_back(layout.items_of(block));
  const std::vector<std::byte> again = encode_layout(blocks);
  require(decode_layout(again).items == layout.items);
  // There is one way only to write a layout without slabs.
  require(layout.items.size() != layout.blocks.size() || std::ranges::equal(again, blob) ||
          get<std::uint32_t>(blob) == 0xFFFFFFFF);
}

void try_ids(std::span<const std::byte> blob) {
  const std::vector<std::uint32_t> ids = decode_ids(blob);
  require(std::ranges::equal(encode_ids(ids), blob));
}

void try_checkpoint(std::span<const std::byte> blob) {
  if (blob.size() < 2) return;
  const std::size_t length =
      std::to_integer<std::size_t>(blob[0]) + 256 * std::to_integer<std::size_t>(blob[1]);
  blob = blob.subspan(2);
  const auto layout = blob.first(std::min(length, blob.size()));
  const auto ids = blob.subspan(layout.size());
  StoredManifest manifest{"checkpoint",
                          1,
                          "a checkpoint",
                          "0123456789abcdef",
                          {},
                          {layout.begin(), layout.end()},
                          {ids.begin(), ids.end()}};
  ChunkRows chunks;
  for (std::uint32_t id = 1; id < 8; ++id) {
    ChunkRow& row = chunks[id];
    row.id = id;
    row.raw_bytes = id * 8;
    row.digest.bytes[0] = static_cast<std::uint8_t>(id);
  }
  // It does not have its digest, so something is always wrong with it.
  require(!flaw_of(manifest, chunks).empty());
  const PackScan nothing;
  require(RowFinder(nothing, {manifest}, chunks, {}).find().empty());
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span blob(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  try {
    if (data[0] % 3 == 0) try_layout(blob);
    if (data[0] % 3 == 1) try_ids(blob);
    if (data[0] % 3 == 2) try_checkpoint(blob);
  } catch (const flor::Damaged&) {
    return 0;
  }
  return 0;
}

}  // namespace flor::fuzz::blob_target
