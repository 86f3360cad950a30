// The name of a piece of content: 128 bits of XXH3 over its bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace flor::store {

/// XXH3-128 in its canonical (big-endian) byte order. Content is identified, deduplicated and
/// checked on every read by it. It does not resist an attacker who chooses the bytes.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Digest&) const = default;

  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
  static std::optional<Digest> from_hex(std::string_view text);
};

/// Bytes per chunk before encoding. Every item is cut into pieces of this size; the last one may be
/// shorter. Part of the format, because the digest of an item depends on it.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// Returns the digest of a chunk, or of any other short sequence of bytes.
Digest digest_of(std::span<const std::byte> bytes);

/// Returns the digest of an item's content of any length. One chunk: the digest of that chunk.
/// Otherwise: the digest of the concatenated digests of its chunks. It can therefore be computed
/// both from a catalog and from memory. Thread-safe. About as fast as reading the memory once.
Digest item_digest(std::span<const std::byte> content);
/// Returns the digest of an item from the digests of its chunks, in order. An item without bytes
/// has no chunks.
Digest item_digest(std::span<const Digest> chunks);

/// Returns the `item_digest` of a file's content as hex digits; empty if the file cannot be read.
std::string file_digest(const std::filesystem::path& path);

}  // namespace flor::store

template <>
struct std::hash<flor::store::Digest> {
  std::size_t operator()(const flor::store::Digest& digest) const noexcept;
};
