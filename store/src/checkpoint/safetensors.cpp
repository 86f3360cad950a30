// The .safetensors format: the length of a header (8 bytes, little-endian), the header (JSON: for
// each name dtype, shape and place), and the tensors without gaps. Items of types that the format
// lacks are represented in the metadata: bytes as hex digits, complex numbers by naming a tensor of
// pairs of floats.
#include "base/json_number.h"
#include "base/little_endian.h"
#include "checkpoint/transfer.h"
#include "database/store_impl.h"
#include "file/new_file.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

namespace flor::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kBytes = "flor.bytes/";      ///< followed by the item's name: hex digits
constexpr std::string_view kComplex = "flor.complex/";  ///< followed by the tensor's name: "c64" or
                                                        ///< "c128"
constexpr std::string_view kOrder = "flor.items";       ///< JSON list of the names of all items, in
                                                        ///< order
constexpr std::size_t kHeaderBytesMax = 100'000'000;    ///< the limit of the reference
                                                        ///< implementation
constexpr std::size_t kAlignment = 8;

struct Dtype {
  ElementType type;
  std::string_view name;
};
constexpr std::array<Dtype, 10> kDtypes = {{{ElementType::boolean, "BOOL"},
                                            {ElementType::u8, "U8"},
                                            {ElementType::i8, "I8"},
                                            {ElementType::i16, "I16"},
                                            {ElementType::i32, "I32"},
                                            {ElementType::i64, "I64"},
                                            {ElementType::f16, "F16"},
                                            {ElementType::bf16, "BF16"},
                                            {ElementType::f32, "F32"},
                                            {ElementType::f64, "F64"}}};

bool is_complex(ElementType type) { return type == ElementType::c64 || type == ElementType::c128; }

/// Returns the type of the real and imaginary parts of a complex type.
ElementType real_part(ElementType type) {
  return type == ElementType::c64 ? ElementType::f32 : ElementType::f64;
}

std::optional<std::string_view> dtype_of(ElementType type) {
  const auto found = std::ranges::find(kDtypes, type, &Dtype::type);
  if (found == kDtypes.end()) return std::nullopt;
  return found->name;
}

/// Returns the bytes of a tensor of this shape; nullopt if no memory could hold it.
std::optional<std::uint64_t> tensor_bytes(ElementType type,
                                          const std::vector<std::int64_t>& sizes) {
  std::uint64_t bytes = element_size(type);
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
      return std::nullopt;
  }
  return bytes;
}

bool is_tensor(const Item& item) {
  return item.type != ElementType::bytes && tensor_bytes(item.type, item.sizes) == item.bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::vector<std::byte> from_hex(std::string_view text) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw UsageError("its metadata holds an item of Flor that is not in hexadecimal");
  };
  if (text.size() % 2 != 0) throw UsageError("its metadata holds half a byte of an item of Flor");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  return bytes;
}

/// Orders items by descending element size, so that all tensors are aligned without gaps.
std::vector<std::size_t> order_of(const std::vector<Item>& items) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (is_tensor(items[i])) order.push_back(i);
  }
  const auto alignment = [&](std::size_t i) {
    const ElementType type = items[i].type;
    return element_size(is_complex(type) ? real_part(type) : type);
  };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return alignment(a) > alignment(b); });
  return order;
}

/// The items to write, which come from a checkpoint of the store or from memory.
struct Source {
  std::vector<Item> items;
  /// Calls `use` with the content of an item.
  std::function<void(std::size_t, const std::function<void(std::span<const std::byte>)>& use)> read;
};

std::string header_of(const Source& source, const std::vector<std::size_t>& order, Json metadata) {
  Json header = Json::object();
  Json names = Json::array();
  for (std::size_t i = 0; i < source.items.size(); ++i) {
    const Item& item = source.items[i];
    if (item.name == kMetadata) {
      throw UsageError(fmt::format(
          "an item has the name '{}', which a .safetensors file keeps for itself: use a .pt file",
          kMetadata));
    }
    names.push_back(item.name);
    if (!is_tensor(item)) {
      source.read(i, [&](std::span<const std::byte> content) {
        metadata[std::string(kBytes) + item.name] = to_hex(content);
      });
    }
    if (is_tensor(item) && is_complex(item.type)) {
      metadata[std::string(kComplex) + item.name] = to_string(item.type);
    }
  }
  metadata[kOrder] = names.dump();
  header[kMetadata] = std::move(metadata);
  std::uint64_t at = 0;
  for (const std::size_t i : order) {
    const Item& item = source.items[i];
    Json shape = item.sizes;
    const bool complex = is_complex(item.type);
    if (complex) shape.push_back(2);
    header[item.name] = {{"dtype", *dtype_of(complex ? real_part(item.type) : item.type)},
                         {"shape", std::move(shape)},
                         {"data_offsets", {at, at + item.bytes}}};
    at += item.bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

/// Parses a file without trusting anything it claims.
class Parser {
 public:
  explicit Parser(const std::filesystem::path& path)
      : file_(Filesystem::system(), path, O_RDONLY), size_(file_.size()) {}

  Snapshot parse() {
    const Json header = read_header();
    const Json none = Json::object();
    const Json& metadata = header.contains(kMetadata) ? header.at(kMetadata) : none;
    std::vector<Place> places;
    for (const auto& [name, entry] : header.items()) {
      if (name != kMetadata) places.push_back(place_of(name, entry, metadata));
    }
    check_places(places);
    for (Place& place : places) {
      add(std::move(place.item),
          [&](std::span<std::byte> to) { file_.read_at(to, data_ + place.begin); });
    }
    for (const auto& [key, value] : metadata.items()) {
      if (key.starts_with(kBytes)) add_bytes(key.substr(kBytes.size()), value.get<std::string>());
    }
    sort(metadata);
    return std::move(snapshot_);
  }

 private:
  Json read_header() {
    std::array<std::byte, 8> prefix{};
    if (file_.read_at(prefix, 0) != prefix.size()) throw UsageError("it is too short");
    const auto length = get<std::uint64_t>(prefix);
    if (length > kHeaderBytesMax || length > size_ - prefix.size()) {
      throw UsageError("its header is longer than the file");
    }
    std::string text(static_cast<std::size_t>(length), '\0');
    file_.read_at(std::as_writable_bytes(std::span(text)), prefix.size());
    data_ = prefix.size() + length;
    Json header = Json::parse(text);
    if (!header.is_object()) throw UsageError("its header is no JSON object");
    return header;
  }

  template <typename Number>
  static Number number(const Json& value) {
    const auto found = whole_number<Number>(value);
    if (!found) throw UsageError("its header has a size or an offset that cannot be");
    return *found;
  }

  /// A tensor, and the offset of its bytes from the end of the header.
  struct Place {
    Item item;
    std::uint64_t begin = 0;
  };

  /// Throws unless the tensors are disjoint. Otherwise a small file could describe more data than
  /// fits into memory.
  void check_places(const std::vector<Place>& places) const {
    std::vector<const Place*> order;
    for (const Place& place : places) order.push_back(&place);
    std::ranges::stable_sort(order, {},
                             [](const Place* it) { return std::pair(it->begin, it->item.bytes); });
    std::uint64_t end = 0;
    for (const Place* place : order) {
      if (place->begin < end) {
        throw UsageError(fmt::format("'{}' overlaps another tensor", place->item.name));
      }
      if (place->begin > end) {
        throw UsageError(fmt::format("before '{}' are bytes of no tensor", place->item.name));
      }
      end += place->item.bytes;
    }
    if (end != size_ - data_) throw UsageError("its tensors do not fill it: it may be cut off");
  }

  Place place_of(const std::string& name, const Json& entry, const Json& metadata) const {
    Item item;
    item.name = name;
    const auto dtype = entry.at("dtype").get<std::string>();
    const auto known = std::ranges::find(kDtypes, std::string_view(dtype), &Dtype::name);
    if (known == kDtypes.end()) {
      throw UsageError(fmt::format("'{}' has the type {}, which Flor does not know", name, dtype));
    }
    item.type = known->type;
    if (!entry.at("shape").is_array()) throw UsageError(fmt::format("'{}' has no shape", name));
    for (const Json& size : entry.at("shape")) item.sizes.push_back(number<std::int64_t>(size));
    const auto begin = number<std::uint64_t>(entry.at("data_offsets").at(0));
    const auto end = number<std::uint64_t>(entry.at("data_offsets").at(1));
    if (begin > end || end > size_ - data_) {
      throw UsageError(fmt::format("'{}' lies beyond its end: it may be cut off", name));
    }
    item.bytes = end - begin;
    if (tensor_bytes(item.type, item.sizes) != item.bytes) {
      throw UsageError(fmt::format("'{}' does not have as many bytes as its shape wants", name));
    }
    restore_complex(item, metadata);
    return {std::move(item), begin};
  }

  static void restore_complex(Item& item, const Json& metadata) {
    const auto mark = metadata.find(std::string(kComplex) + item.name);
    if (mark == metadata.end()) return;
    const ElementType type =
        mark->get<std::string>() == "c64" ? ElementType::c64 : ElementType::c128;
    if (item.type != real_part(type) || item.sizes.empty() || item.sizes.back() != 2) {
      throw UsageError(
          fmt::format("'{}' is said to be complex, but is not made of pairs", item.name));
    }
    item.type = type;
    item.sizes.pop_back();
  }

  void add_bytes(const std::string& name, const std::string& hex) {
    const std::vector<std::byte> bytes = from_hex(hex);
    add({name, ElementType::bytes, {}, bytes.size()},
        [&](std::span<std::byte> to) { std::ranges::copy(bytes, to.begin()); });
  }

  template <typename Fill>
  void add(Item item, const Fill& fill) {
    const auto size = static_cast<std::size_t>(item.bytes);
    auto memory = std::shared_ptr<std::byte[]>(new std::byte[size]);
    fill(std::span(memory.get(), size));
    snapshot_.items.push_back({std::move(item), Content(memory, memory.get())});
  }

  /// Restores the order in which Flor had the items.
  void sort(const Json& metadata) {
    const auto list = metadata.find(kOrder);
    if (list == metadata.end()) return;
    std::map<std::string, std::size_t> places;
    for (const auto& name : Json::parse(list->get<std::string>())) {
      places.emplace(name.get<std::string>(), places.size());
    }
    const auto place = [&](const SnapshotItem& item) {
      const auto found = places.find(item.item.name);
      return found == places.end() ? places.size() : found->second;
    };
    std::ranges::stable_sort(snapshot_.items, {}, place);
  }

  File file_;
  std::uint64_t size_;
  std::uint64_t data_ = 0;
  Snapshot snapshot_;
};

ExportReport write(Filesystem& files, const Source& source, const std::filesystem::path& file,
                   const std::map<std::string, std::string>& metadata,
                   const std::stop_token& stop) {
  const std::vector<std::size_t> order = order_of(source.items);
  ExportReport report;
  report.tensors = static_cast<std::int64_t>(order.size());
  report.others = static_cast<std::int64_t>(source.items.size() - order.size());
  std::string header;
  try {
    header = header_of(source, order, Json(metadata));
  } catch (const Json::exception&) {
    throw UsageError(
        "an item has a name that is not UTF-8, which a .safetensors file does not allow: use a .pt "
        "file");
  }
  if (header.size() > kHeaderBytesMax) {
    throw UsageError(
        "the items that are no tensors are too large for the header of a .safetensors file: use a "
        ".pt file");
  }
  NewFile out(files, file);
  std::array<std::byte, 8> length{};
  put(std::span(length), static_cast<std::uint64_t>(header.size()));
  out.append(length);
  out.append(std::as_bytes(std::span(header)));
  for (const std::size_t i : order) {
    throw_if_stopped(stop);
    source.read(i, [&](std::span<const std::byte> content) { out.append(content); });
  }
  throw_if_stopped(stop);
  out.finish();
  report.bytes = out.bytes();
  return report;
}

}  // namespace

ExportReport write_safetensors(const Store& store, std::int64_t checkpoint,
                               const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata,
                               const std::stop_token& stop) {
  const CheckpointReader reader(store, checkpoint);
  const Source source{reader.items(), [&](std::size_t i, const auto& use) { use(reader.read(i)); }};
  return write(store.impl().database->files, source, file, metadata, stop);
}

ExportReport write_safetensors(const Snapshot& snapshot, const std::filesystem::path& file,
                               const std::map<std::string, std::string>& metadata) {
  Source source;
  for (const SnapshotItem& item : snapshot.items) source.items.push_back(item.item);
  source.read = [&](std::size_t i, const auto& use) {
    use({snapshot.items[i].content.get(), static_cast<std::size_t>(source.items[i].bytes)});
  };
  return write(Filesystem::system(), source, file, metadata, {});
}

Snapshot read_safetensors(const std::filesystem::path& file) {
  const auto wrong = [&](std::string_view why) {
    return UsageError(fmt::format("{} is no .safetensors file: {}", file.string(), why));
  };
  try {
    return Parser(file).parse();
  } catch (const UsageError& error) {
    throw wrong(error.what());
  } catch (const Json::exception&) {
    throw wrong("its header is not what the format says");
  }
}

}  // namespace flor::store
