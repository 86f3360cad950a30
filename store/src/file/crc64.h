// The checksum of framed files. It is a CRC because a CRC also tells which bit was flipped, if only
// one was: such damage is not only found but undone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace flor::store {

/// CRC-64 as in .xz files (polynomial of ECMA-182, reflected; "123456789" has 995DC9BBDF1939FA).
/// `before`: the CRC of the bytes before these.
std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before = 0);

/// The bit of `size` bytes, counted from the lowest of the first one, whose flip alone changes
/// their CRC-64 by `difference` (the exclusive or of both); nothing if there is none. Takes time
/// proportional to `size`.
std::optional<std::uint64_t> flipped_bit(std::uint64_t size, std::uint64_t difference);

}  // namespace flor::store
