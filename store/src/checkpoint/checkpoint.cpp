#include "database/manifest.h"

#include <flor/store/checkpoint.h>

#include <numeric>
#include <utility>

namespace flor::store {

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::bytes:
    case ElementType::boolean:
    case ElementType::u8:
    case ElementType::i8:
      return 1;
    case ElementType::i16:
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::i32:
    case ElementType::f32:
      return 4;
    case ElementType::i64:
    case ElementType::f64:
    case ElementType::c64:
      return 8;
    case ElementType::c128:
      return 16;
  }
  return 1;
}

std::string_view to_string(CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::boundary:
      return "boundary";
    case CheckpointKind::loop_end:
      return "loop end";
    case CheckpointKind::step:
      return "step";
    case CheckpointKind::saved:
      return "saved";
  }
  return "unknown";
}

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::bytes:
      return "bytes";
    case ElementType::boolean:
      return "bool";
    case ElementType::u8:
      return "u8";
    case ElementType::i8:
      return "i8";
    case ElementType::i16:
      return "i16";
    case ElementType::i32:
      return "i32";
    case ElementType::i64:
      return "i64";
    case ElementType::f16:
      return "f16";
    case ElementType::bf16:
      return "bf16";
    case ElementType::f32:
      return "f32";
    case ElementType::f64:
      return "f64";
    case ElementType::c64:
      return "c64";
    case ElementType::c128:
      return "c128";
  }
  return "unknown";
}

bool is_internal(std::string_view item) {
  return item.starts_with('@') || item.starts_with('.') || item.find("/.") != item.npos;
}

SnapshotItem make_slab(std::shared_ptr<const std::vector<Item>> parts, Content content) {
  Item whole{.name = parts->front().name, .type = common_type(*parts), .sizes = {}, .bytes = 0};
  for (const Item& part : *parts) whole.bytes += part.bytes;
  return {std::move(whole), std::move(content), std::move(parts)};
}

std::uint64_t Snapshot::raw_bytes() const {
  return std::accumulate(
      items.begin(), items.end(), std::uint64_t{0},
      [](std::uint64_t sum, const SnapshotItem& item) { return sum + item.item.bytes; });
}

}  // namespace flor::store
