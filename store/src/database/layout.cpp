// Encodes and decodes layouts: names, types, shapes and lengths of a checkpoint's items, and which
// items share a slab.
#include "base/little_endian.h"
#include "database/manifest.h"

#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace flor::store {
namespace {

/// A value in place of the number of items, which says that blocks follow, some of them slabs.
constexpr std::uint32_t kWithSlabs = 0xFFFFFFFF;
/// The first byte of the name of a slab's part. kSuccessor: the name is the previous one with its
/// last number increased by 1. Otherwise it is the length of the common prefix, plus 1.
constexpr std::uint8_t kSuccessor = 0;
constexpr std::size_t kSharedMax = 254;

/// Limits the memory for the parts of slabs. A part may take a single byte of the layout, so a
/// forged layout could claim more memory than any machine has.
class PartsRoom {
 public:
  /// Returns false if the parts need more memory than those of any real checkpoint.
  bool take(const Item& part) {
    taken_ += sizeof(Item) + part.name.size() + part.sizes.size() * sizeof(std::int64_t);
    return taken_ <= kMax;
  }

 private:
  static constexpr std::uint64_t kMax = std::uint64_t{256} << 20;
  std::uint64_t taken_ = 0;
};

/// Turns "layer9/bias" into "layer10/bias"; false if the name has no number.
bool increase(std::string& name) {
  constexpr const char* kDigits = "0123456789";
  const std::size_t last = name.find_last_of(kDigits);
  if (last == name.npos) return false;
  const std::size_t before = name.find_last_not_of(kDigits, last) + 1;
  std::size_t at = last + 1;
  while (at > before && name[at - 1] == '9') name[--at] = '0';
  if (at == before) {
    name.insert(before, 1, '1');
  } else {
    ++name[at - 1];
  }
  return true;
}

bool are_alike(const Item& one, const Item& other) {
  return one.type == other.type && one.bytes == other.bytes && one.sizes == other.sizes;
}

/// Appends values to an encoded layout.
class LayoutEncoder {
 public:
  void number(std::size_t number) { append(bytes_, static_cast<std::uint32_t>(number)); }
  void item(const Item& item) {
    text(item.name);
    shape(item);
  }
  void slab(std::span<const Item> parts) {
    std::string before;
    while (!parts.empty()) {
      const auto end = std::ranges::find_if_not(
          parts, [&](const Item& part) { return are_alike(part, parts.front()); });
      const auto alike = parts.first(static_cast<std::size_t>(end - parts.begin()));
      number(alike.size());
      shape(alike.front());
      for (const Item& part : alike) {
        if (!room_.take(part))
          throw Error("a checkpoint has too many small items: keep them in a row");
        name_after(before, part.name);
      }
      parts = parts.subspan(alike.size());
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void text(std::string_view text) {
    number(text.size());
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void shape(const Item& item) {
    if (item.sizes.size() > std::numeric_limits<std::uint8_t>::max()) {
      throw Error("the item '" + item.name + "' has more than 255 dimensions");
    }
    append(bytes_, static_cast<std::uint8_t>(item.type));
    append(bytes_, static_cast<std::uint8_t>(item.sizes.size()));
    for (const std::int64_t size : item.sizes) append(bytes_, static_cast<std::uint64_t>(size));
    append(bytes_, item.bytes);
  }
  void name_after(std::string& before, const std::string& name) {
    const auto ends = std::ranges::mismatch(before, name);
    const auto shared = std::min(static_cast<std::size_t>(ends.in2 - name.begin()), kSharedMax);
    if (increase(before) && before == name) return append(bytes_, kSuccessor);
    append(bytes_, static_cast<std::uint8_t>(shared + 1));
    text(std::string_view(name).substr(shared));
    before = name;
  }

  std::vector<std::byte> bytes_;
  PartsRoom room_;
};

/// Reads values from the front of an encoded layout, and never beyond its end.
class LayoutDecoder {
 public:
  explicit LayoutDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T integer() {
    return get<T>(take(sizeof(T)));
  }
  Item item() {
    Item item;
    item.name = text();
    shape(item);
    return item;
  }
  void slab(std::uint32_t count, std::vector<Item>& items) {
    Item part;
    while (count > 0) {
      const auto alike = integer<std::uint32_t>();
      if (alike == 0 || alike > count) throw_contradicts();
      part.sizes.clear();
      shape(part);
      for (std::uint32_t i = 0; i < alike; ++i) {
        next_name(part.name);
        if (!room_.take(part)) throw_contradicts();
        items.push_back(part);
      }
      count -= alike;
    }
  }
  bool done() const { return bytes_.empty(); }
  [[noreturn]] static void throw_contradicts() {
    throw Damaged("a layout in the catalog contradicts itself: run `flor fsck`");
  }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size()) throw Damaged("a layout in the catalog is cut off: run `flor fsck`");
    const auto taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::string_view text() {
    const auto text = take(integer<std::uint32_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  void shape(Item& item) {
    item.type = static_cast<ElementType>(integer<std::uint8_t>());
    const auto rank = integer<std::uint8_t>();
    for (unsigned d = 0; d < rank; ++d) {
      item.sizes.push_back(static_cast<std::int64_t>(integer<std::uint64_t>()));
    }
    item.bytes = integer<std::uint64_t>();
  }
  void next_name(std::string& name) {
    const auto head = integer<std::uint8_t>();
    if (head == kSuccessor) {
      if (!increase(name)) throw_contradicts();
      return;
    }
    const std::size_t shared = head - std::size_t{1};
    if (shared > name.size()) throw_contradicts();
    name.resize(shared);
    name += text();
  }

  std::span<const std::byte> bytes_;
  PartsRoom room_;
};

Block block_of(std::span<const Item> items, std::size_t first) {
  Block block{.first = first, .count = items.size()};
  for (const Item& item : items) {
    if (item.bytes > std::numeric_limits<std::uint64_t>::max() - block.bytes) {
      LayoutDecoder::throw_contradicts();
    }
    block.bytes += item.bytes;
  }
  return block;
}

}  // namespace

ElementType common_type(std::span<const Item> items) {
  const bool same =
      std::ranges::all_of(items, [&](const Item& item) { return item.type == items.front().type; });
  return same ? items.front().type : ElementType::bytes;
}

std::string Layout::title(const Block& block) const {
  // The names of items that Flor adds mean nothing to users.
  const std::string_view name = items[block.first].name;
  const bool own = name.starts_with('@') || name.starts_with('.');
  const std::string first =
      own ? "what Flor notes by itself" : fmt::format("'{}'", name.substr(0, name.find("/.")));
  return block.count == 1 ? first : fmt::format("{} and {} that follow it", first, block.count - 1);
}

std::vector<std::byte> encode_layout(std::span<const std::span<const Item>> blocks) {
  LayoutEncoder encoder;
  const bool slabs =
      std::ranges::any_of(blocks, [](const auto& block) { return block.size() > 1; });
  if (slabs) encoder.number(kWithSlabs);
  encoder.number(blocks.size());
  for (const std::span<const Item> block : blocks) {
    if (slabs) encoder.number(block.size());
    block.size() == 1 ? encoder.item(block.front()) : encoder.slab(block);
  }
  return encoder.take();
}

std::vector<std::byte> encode_layout(const Snapshot& snapshot) {
  std::vector<std::span<const Item>> blocks;
  blocks.reserve(snapshot.items.size());
  for (const SnapshotItem& item : snapshot.items) {
    blocks.push_back(item.parts ? std::span(*item.parts) : std::span(&item.item, 1));
  }
  return encode_layout(blocks);
}

std::vector<std::byte> encode_layout(const Item& object) {
  const std::span<const Item> block(&object, 1);
  return encode_layout(std::span(&block, 1));
}

Layout decode_layout(std::span<const std::byte> bytes) {
  LayoutDecoder decoder(bytes);
  Layout layout;
  auto count = decoder.integer<std::uint32_t>();
  const bool slabs = count == kWithSlabs;
  if (slabs) count = decoder.integer<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t first = layout.items.size();
    const auto parts = slabs ? decoder.integer<std::uint32_t>() : 1;
    if (parts == 0) LayoutDecoder::throw_contradicts();
    parts == 1 ? layout.items.push_back(decoder.item()) : decoder.slab(parts, layout.items);
    layout.blocks.push_back(block_of(std::span(layout.items).subspan(first), first));
  }
  if (!decoder.done()) throw Damaged("a layout in the catalog is too long: run `flor fsck`");
  return layout;
}

}  // namespace flor::store
