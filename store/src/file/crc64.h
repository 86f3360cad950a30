// The checksum of framed files (file/frames.h). It is a CRC because a CRC also shows which bit was
// flipped if only one was, so that this damage can be repaired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace flor::store {

/// CRC-64 as in .xz files (ECMA-182 polynomial, reflected; "123456789" has 995DC9BBDF1939FA).
/// `before`: the CRC of preceding bytes, for computing a CRC in pieces.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before = 0);

/// Finds a single flipped bit among `size` bytes. `difference`: the exclusive or of the CRC-64 of
/// the bytes with and without the flip. Returns the number of the bit, counted from the lowest bit
/// of the first byte; nullopt if no single flip has this effect. Takes time proportional to `size`.
std::optional<std::uint64_t> flipped_bit(std::uint64_t size, std::uint64_t difference);

}  // namespace flor::store
