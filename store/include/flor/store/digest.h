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

/// XXH3-128 in its canonical (big-endian) byte order. It identifies content, keys deduplication and
/// checks every read; it is not meant to resist an attacker who chooses the bytes.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Digest&) const = default;

  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
  static std::optional<Digest> from_hex(std::string_view text);
};

/// Raw bytes per chunk: every item is cut into pieces of this size, the last one may be shorter.
/// Part of the format: item digests depend on it.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// Digest of one chunk (or of any short run of bytes).
Digest digest_of(std::span<const std::byte> bytes);

/// Digest of the content of an item of any length: the digest of its only chunk, or else the digest
/// of the concatenated digests of its chunks. Thus it can be had from a catalog without the content,
/// and from memory without a store. Thread-safe; about the speed of reading the memory once.
Digest item_digest(std::span<const std::byte> content);
/// The same, from the chunks' digests in order. An item without bytes has no chunks.
Digest item_digest(std::span<const Digest> chunks);

/// Digest of a file's content, as of an item, in hex; empty if the file cannot be read.
std::string file_digest(const std::filesystem::path& path);

}  // namespace flor::store

template <>
struct std::hash<flor::store::Digest> {
  std::size_t operator()(const flor::store::Digest& digest) const noexcept;
};
