#include "checkpoint/zip_writer.h"

#include "base/little_endian.h"

#include <flor/store/error.h>

#include <array>
#include <limits>

namespace flor::store {
namespace {

constexpr std::size_t kEntryAlignment = 64;  ///< alignment of entries, as torch uses it
constexpr std::uint32_t kLocalHeader = 0x04034B50, kDirectoryEntry = 0x02014B50;
constexpr std::uint32_t kDirectoryEnd = 0x06054B50;
constexpr std::uint16_t kVersion = 20;
constexpr std::uint16_t kNamesAreUtf8 = 1 << 11;
constexpr std::uint16_t kDay = 1 << 5 | 1;    ///< 1980-01-01 for every entry, so that equal
                                              ///< contents give equal files
constexpr std::uint16_t kPaddingId = 0x4246;  ///< id of an extra field that readers ignore

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0u);
    table[i] = value;
  }
  return table;
}

std::uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = make_table();
  std::uint32_t value = ~0u;
  for (const std::byte byte : bytes) {
    value = kTable[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFF] ^ value >> 8;
  }
  return ~value;
}

void append_text(std::vector<std::byte>& bytes, std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <typename... Integers>
void append_all(std::vector<std::byte>& bytes, Integers... integers) {
  (append(bytes, integers), ...);
}

constexpr std::uint16_t kNone16 = 0;
constexpr std::uint32_t kNone32 = 0;

}  // namespace

void ZipWriter::add(std::string_view name, std::span<const std::byte> content) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  constexpr std::size_t kHeaderBytes = 30, kExtraBytes = 4;
  const std::uint64_t start = file_.bytes() + kHeaderBytes + name.size() + kExtraBytes;
  const std::uint64_t padding = (kEntryAlignment - start % kEntryAlignment) % kEntryAlignment;
  if (start + padding + content.size() > kMax ||
      entries_.size() == std::numeric_limits<std::uint16_t>::max()) {
    throw UsageError(
        "a .pt archive is written only up to 4 GiB and 65535 tensors: use a .safetensors file");
  }
  Entry& entry = entries_.emplace_back();
  entry.name = name;
  entry.checksum = crc32(content);
  entry.size = static_cast<std::uint32_t>(content.size());
  entry.offset = static_cast<std::uint32_t>(file_.bytes());
  std::vector<std::byte> header;
  append_all(header, kLocalHeader, kVersion, kNamesAreUtf8, kNone16, kNone16, kDay, entry.checksum,
             entry.size, entry.size, static_cast<std::uint16_t>(name.size()),
             static_cast<std::uint16_t>(kExtraBytes + padding));
  append_text(header, name);
  append_all(header, kPaddingId, static_cast<std::uint16_t>(padding));
  header.resize(header.size() + static_cast<std::size_t>(padding));
  file_.append(header);
  file_.append(content);
}

void ZipWriter::finish() {
  const std::uint64_t start = file_.bytes();
  std::vector<std::byte> bytes;
  for (const Entry& entry : entries_) {
    append_all(bytes, kDirectoryEntry, kVersion, kVersion, kNamesAreUtf8, kNone16, kNone16, kDay,
               entry.checksum, entry.size, entry.size,
               static_cast<std::uint16_t>(entry.name.size()), kNone16, kNone16, kNone16, kNone16,
               kNone32, entry.offset);
    append_text(bytes, entry.name);
  }
  if (start + bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("a .pt archive is written only up to 4 GiB: use a .safetensors file");
  }
  const auto size = static_cast<std::uint32_t>(bytes.size());
  const auto count = static_cast<std::uint16_t>(entries_.size());
  append_all(bytes, kDirectoryEnd, kNone16, kNone16, count, count, size,
             static_cast<std::uint32_t>(start), kNone16);
  file_.append(bytes);
}

}  // namespace flor::store
