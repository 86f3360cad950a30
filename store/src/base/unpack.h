// Decompresses zstd data from untrusted sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace flor::store {

/// Returns the limit of decompressed bytes for this number of compressed ones. Data that Flor
/// compressed at level 3 stays far below it, and it keeps memory in proportion to the bytes
/// received.
constexpr std::uint64_t unpacked_bytes_max(std::uint64_t packed_bytes) {
  return (std::uint64_t{16} << 20) + 256 * packed_bytes;
}

/// Decompresses one zstd frame and passes each decompressed piece to `sink`. Does not rely on the
/// length that the frame claims. Returns what is wrong with the frame, as "is cut off"; empty if it
/// is sound.
std::string_view unpack(std::span<const std::byte> packed,
                        const std::function<void(std::span<const std::byte>)>& sink);

}  // namespace flor::store
