// Unpacking what zstd has packed, without belief in the length that it claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace flor::store {

/// The most that so many bytes may become: much more than level 3 makes of what Flor packs, so that
/// memory stays in proportion to what was received.
constexpr std::uint64_t unpacked_bytes_max(std::uint64_t packed_bytes) {
  return (std::uint64_t{16} << 20) + 256 * packed_bytes;
}

/// Hands one frame of zstd on piece by piece, as it is unpacked. Returns what is wrong with it, as
/// "is cut off"; empty if nothing is.
std::string_view unpack(std::span<const std::byte> packed,
                        const std::function<void(std::span<const std::byte>)>& sink);

}  // namespace flor::store
