#include "pack/pack_record.h"

#include "base/little_endian.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>

namespace flor::store {
namespace {

constexpr std::string_view kPackMagic = "FLORPACK";
constexpr std::string_view kRecordMagic = "FREC";
constexpr std::uint8_t kUsesBase = 1;
constexpr std::size_t kHeaderChecksumBytes = 8;

void put_text(std::span<std::byte> bytes, std::string_view text) {
  std::ranges::copy(std::as_bytes(std::span(text)), bytes.begin());
}

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return std::ranges::equal(bytes.first(text.size()), std::as_bytes(std::span(text)));
}

/// Puts the checksum of the other bytes at the end of a header.
void seal(std::span<std::byte> header) {
  const auto body = header.first(header.size() - kHeaderChecksumBytes);
  put(header.last(kHeaderChecksumBytes), checksum(body));
}

bool is_sealed(std::span<const std::byte> header) {
  return get<std::uint64_t>(header.last(kHeaderChecksumBytes)) ==
         checksum(header.first(header.size() - kHeaderChecksumBytes));
}

void put_digest(std::span<std::byte> bytes, const Digest& digest) {
  std::ranges::copy(std::as_bytes(std::span(digest.bytes)), bytes.begin());
}

Digest get_digest(std::span<const std::byte> bytes) {
  Digest digest;
  std::ranges::copy(bytes.first(digest.bytes.size()),
                    std::as_writable_bytes(std::span(digest.bytes)).begin());
  return digest;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum(std::span<const std::byte> bytes, const Digest& digest) {
  // XXH3 is defined so that the 64-bit hash of more than 240 bytes is the lower half of the 128-bit
  // hash, which the digest has in big-endian order.
  constexpr std::size_t kShort = 240;
  if (bytes.size() <= kShort) return checksum(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = 8; i < digest.bytes.size(); ++i) value = value << 8 | digest.bytes[i];
  return value;
}

std::array<std::byte, kPackHeaderBytes> encode_header(const PackHeader& header) {
  std::array<std::byte, kPackHeaderBytes> array{};
  const std::span<std::byte> bytes(array);
  put_text(bytes, kPackMagic);
  put(bytes.subspan(8), static_cast<std::uint16_t>(header.format));
  put(bytes.subspan(10), static_cast<std::uint16_t>(header.origin));
  put(bytes.subspan(12), static_cast<std::uint32_t>(kPackHeaderBytes));
  put(bytes.subspan(16), header.key);
  seal(bytes);
  return array;
}

std::optional<PackHeader> decode_pack_header(std::span<const std::byte, kPackHeaderBytes> bytes) {
  if (!begins_with(bytes, kPackMagic) || !is_sealed(bytes)) return std::nullopt;
  return PackHeader{.format = get<std::uint16_t>(bytes.subspan(8)),
                    .key = get<std::uint64_t>(bytes.subspan(16)),
                    .origin = get<std::uint16_t>(bytes.subspan(10)) == 0 ? PackOrigin::here
                                                                         : PackOrigin::elsewhere};
}

std::array<std::byte, kRecordHeaderBytes> encode_header(const RecordHeader& header) {
  std::array<std::byte, kRecordHeaderBytes> array{};
  const std::span<std::byte> bytes(array);
  put_text(bytes, kRecordMagic);
  bytes[4] = std::byte{header.codec};
  bytes[5] = static_cast<std::byte>(header.type);
  bytes[6] = header.uses_base ? std::byte{kUsesBase} : std::byte{0};
  bytes[7] = std::byte{header.depth};
  put(bytes.subspan(8), header.raw_bytes);
  put(bytes.subspan(12), header.stored_bytes);
  put_digest(bytes.subspan(16), header.digest);
  put_digest(bytes.subspan(32), header.base);
  put(bytes.subspan(48), header.payload_checksum);
  seal(bytes);
  return array;
}

std::optional<RecordHeader> decode_record_header(
    std::span<const std::byte, kRecordHeaderBytes> bytes) {
  if (!begins_with(bytes, kRecordMagic) || !is_sealed(bytes)) return std::nullopt;
  RecordHeader header;
  header.codec = std::to_integer<std::uint8_t>(bytes[4]);
  header.type = static_cast<ElementType>(bytes[5]);
  header.uses_base = (std::to_integer<std::uint8_t>(bytes[6]) & kUsesBase) != 0;
  header.depth = std::to_integer<std::uint8_t>(bytes[7]);
  header.raw_bytes = get<std::uint32_t>(bytes.subspan(8));
  header.stored_bytes = get<std::uint32_t>(bytes.subspan(12));
  header.digest = get_digest(bytes.subspan(16));
  header.base = get_digest(bytes.subspan(32));
  header.payload_checksum = get<std::uint64_t>(bytes.subspan(48));
  return header;
}

}  // namespace flor::store
