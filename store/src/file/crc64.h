// The checksum of framed files. It is a CRC because a CRC also tells which bit was flipped, where
// it was one bit: such damage is undone and not only found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace flor::store {

/// CRC-64 as .xz files have it (polynomial of ECMA-182, reflected; of "123456789":
/// 995DC9BBDF1939FA). `before`: the CRC of the bytes before these.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before = 0);

/// The bit of `size` bytes, counted from the lowest of the first one, whose flip alone makes a
/// difference of `difference` (the exclusive or of both) to their CRC-64; nothing if there is none.
/// Takes time as `size` does.
std::optional<std::uint64_t> flipped_bit(std::uint64_t size, std::uint64_t difference);

}  // namespace flor::store
