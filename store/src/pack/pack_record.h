// The bytes of a pack: a header, then records that each describe themselves, so that the chunk
// table could be rebuilt from the packs alone. docs/internals/format.md has the tables.
//
//   pack   = pack header (32 bytes), record*
//   record = record header (64 bytes), payload (stored_bytes)
#pragma once

#include <flor/store/checkpoint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace flor::store {

inline constexpr std::size_t kPackHeaderBytes = 32;
inline constexpr std::size_t kRecordHeaderBytes = 64;
/// The codec promises to add no more than this to a chunk.
inline constexpr std::size_t kPayloadBytesMax = kChunkBytes + 16;

/// Where the records of a pack came from. On disk.
enum class PackOrigin : std::uint16_t {
  here = 0,       ///< recorded in this home
  elsewhere = 1,  ///< fetched or imported: a digest does not resist an attacker who chose the bytes
};

struct PackHeader {
  std::uint32_t format = 0;
  std::uint64_t key = 0;  ///< the file's name, as 16 hex digits
  PackOrigin origin = PackOrigin::here;
};

struct RecordHeader {
  std::uint8_t codec = 0;
  ElementType type = ElementType::bytes;
  bool uses_base = false;
  std::uint8_t depth = 0;  ///< number of records that must be decoded before this one
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  Digest digest;  ///< of the raw bytes
  Digest base;    ///< of the base's raw bytes; zero without one
  std::uint64_t payload_checksum = 0;

  bool operator==(const RecordHeader&) const = default;
};

std::array<std::byte, kPackHeaderBytes> encode_header(const PackHeader& header);
std::array<std::byte, kRecordHeaderBytes> encode_header(const RecordHeader& header);

/// Nothing if the bytes are no header or were changed since.
std::optional<PackHeader> decode_pack_header(std::span<const std::byte, kPackHeaderBytes> bytes);
std::optional<RecordHeader> decode_record_header(
    std::span<const std::byte, kRecordHeaderBytes> bytes);

/// XXH3-64.
std::uint64_t checksum(std::span<const std::byte> bytes);
/// The same, of bytes whose digest is known: mostly without reading them.
std::uint64_t checksum(std::span<const std::byte> bytes, const Digest& digest);

}  // namespace flor::store
