// Unpacks data of zstd, without trusting the length that it claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace flor::store {

/// The most that so many bytes may unpack to: much more than Flor's own data at level 3, so that
/// memory stays in proportion to the bytes received.
constexpr std::uint64_t unpacked_bytes_max(std::uint64_t packed_bytes) {
  return (std::uint64_t{16} << 20) + 256 * packed_bytes;
}

/// Hands on one frame of zstd piece by piece, as it is unpacked. Returns its fault, such as "is cut
/// off"; empty if there is none.
std::string_view unpack(std::span<const std::byte> packed,
                        const std::function<void(std::span<const std::byte>)>& sink);

}  // namespace flor::store
