// The bytes of a pack: a header, then records. Each record describes itself, so that the catalog's
// table of chunks can be rebuilt from the packs alone. docs/internals/format.md has the tables.
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
/// The codec adds at most 16 bytes to a chunk that it cannot make shorter.
inline constexpr std::size_t kPayloadBytesMax = kChunkBytes + 16;

/// Where the records of a pack came from. The numbers are on disk.
enum class PackOrigin : std::uint16_t {
  here = 0,       ///< recorded in this home
  elsewhere = 1,  ///< fetched or imported; its bytes may have been chosen by an attacker to match a
                  ///< digest
};

struct PackHeader {
  std::uint32_t format = 0;
  std::uint64_t key = 0;  ///< also the name of the file, as 16 hex digits
  PackOrigin origin = PackOrigin::here;
};

struct RecordHeader {
  std::uint8_t codec = 0;
  ElementType type = ElementType::bytes;
  bool uses_base = false;
  std::uint8_t depth = 0;  ///< number of records that must be decoded before this one
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  Digest digest;  ///< digest of the bytes before encoding
  Digest base;    ///< digest of the base's bytes before encoding; zero if there is no base
  std::uint64_t payload_checksum = 0;

  bool operator==(const RecordHeader&) const = default;
};

std::array<std::byte, kPackHeaderBytes> encode_header(const PackHeader& header);
std::array<std::byte, kRecordHeaderBytes> encode_header(const RecordHeader& header);

/// Decode a header. Both return nullopt if the bytes are not a header or were changed.
std::optional<PackHeader> decode_pack_header(std::span<const std::byte, kPackHeaderBytes> bytes);
std::optional<RecordHeader> decode_record_header(
    std::span<const std::byte, kRecordHeaderBytes> bytes);

/// Returns the XXH3-64 of the bytes.
std::uint64_t checksum(std::span<const std::byte> bytes);
/// Returns the XXH3-64 of bytes whose digest is known, usually without reading the bytes.
std::uint64_t checksum(std::span<const std::byte> bytes, const Digest& digest);

}  // namespace flor::store
