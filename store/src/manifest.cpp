#include "manifest.h"

#include "little_endian.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace flor::store {
namespace {

/// Takes pieces off the front of a layout and never reads beyond its end.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T integer() {
    return get<T>(take(sizeof(T)));
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size()) throw Damaged("a layout in the catalog is cut off: run `flor fsck`");
    const auto taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> encode_layout(std::span<const Item> items) {
  std::vector<std::byte> bytes;
  append(bytes, static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) {
    if (item.sizes.size() > std::numeric_limits<std::uint8_t>::max()) {
      throw Error("the item '" + item.name + "' has more than 255 dimensions");
    }
    append(bytes, static_cast<std::uint32_t>(item.name.size()));
    const auto name = std::as_bytes(std::span(item.name));
    bytes.insert(bytes.end(), name.begin(), name.end());
    append(bytes, static_cast<std::uint8_t>(item.type));
    append(bytes, static_cast<std::uint8_t>(item.sizes.size()));
    for (const std::int64_t size : item.sizes) append(bytes, static_cast<std::uint64_t>(size));
    append(bytes, item.bytes);
  }
  return bytes;
}

std::vector<Item> decode_layout(std::span<const std::byte> bytes) {
  Cursor cursor(bytes);
  std::vector<Item> items;
  const auto count = cursor.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    Item& item = items.emplace_back();
    const auto name = cursor.take(cursor.integer<std::uint32_t>());
    item.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    item.type = static_cast<ElementType>(cursor.integer<std::uint8_t>());
    const auto rank = cursor.integer<std::uint8_t>();
    for (unsigned d = 0; d < rank; ++d) {
      item.sizes.push_back(static_cast<std::int64_t>(cursor.integer<std::uint64_t>()));
    }
    item.bytes = cursor.integer<std::uint64_t>();
  }
  if (!cursor.done()) throw Damaged("a layout in the catalog is too long: run `flor fsck`");
  return items;
}

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

std::size_t chunk_count(std::uint64_t item_bytes) {
  return static_cast<std::size_t>(item_bytes / kChunkBytes + (item_bytes % kChunkBytes != 0));
}

std::size_t chunk_bytes(std::uint64_t item_bytes, std::size_t index) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kChunkBytes, item_bytes - std::uint64_t{index} * kChunkBytes));
}

Digest manifest_digest(std::span<const std::byte> layout, std::span<const Digest> items) {
  std::vector<std::byte> bytes(layout.begin(), layout.end());
  const auto digests = std::as_bytes(items);
  bytes.insert(bytes.end(), digests.begin(), digests.end());
  return digest_of(bytes);
}

void check_content(std::span<const std::byte> layout, std::span<const SizedChunk> chunks,
                   const Digest& digest) {
  std::vector<Digest> digests, of_item;
  std::size_t next = 0;
  for (const Item& item : decode_layout(layout)) {
    of_item.clear();
    const std::size_t count = chunk_count(item.bytes);
    for (std::size_t i = 0; i < count; ++i, ++next) {
      if (next == chunks.size()) throw Damaged("it has too few chunks");
      if (chunks[next].raw_bytes != chunk_bytes(item.bytes, i)) {
        throw Damaged(fmt::format("'{}' has a chunk of the wrong length", item.name));
      }
      of_item.push_back(chunks[next].digest);
    }
    digests.push_back(item_digest(of_item));
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
