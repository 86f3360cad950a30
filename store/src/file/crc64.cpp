#include "file/crc64.h"

#include <array>

namespace flor::store {
namespace {

constexpr std::uint64_t kPolynomial = 0xC96C5795D7870F42;  // reflected
constexpr std::size_t kSlices = 8;                         // bytes processed per step

/// Returns the CRC's remainder after one more bit (multiplied by x).
constexpr std::uint64_t crc_step(std::uint64_t remainder) {
  return (remainder >> 1) ^ ((remainder & 1) != 0 ? kPolynomial : 0);
}

using Tables = std::array<std::array<std::uint64_t, 256>, kSlices>;

/// Entry [s][b] is the contribution of a byte b that is followed by s bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::uint64_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = crc_step(remainder);
    tables[0][byte] = remainder;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kCrcTables = make_tables();

}  // namespace

std::uint64_t crc64(std::span<const std::byte> bytes, std::uint64_t before) {
  std::uint64_t remainder = ~before;
  const auto take = [&](std::byte byte) {
    remainder =
        (remainder >> 8) ^ kCrcTables[0][(remainder ^ std::to_integer<std::uint64_t>(byte)) & 0xFF];
  };
  while (bytes.size() >= kSlices) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      const std::uint64_t byte =
          (remainder >> (8 * i) ^ std::to_integer<std::uint64_t>(bytes[i])) & 0xFF;
      sum ^= kCrcTables[kSlices - 1 - i][byte];
    }
    remainder = sum;
    bytes = bytes.subspan(kSlices);
  }
  for (const std::byte byte : bytes) take(byte);
  return ~remainder;
}

std::optional<std::uint64_t> flipped_bit(std::uint64_t size, std::uint64_t difference) {
  // Flipping the last bit changes the CRC by the polynomial; each bit before it by one more step.
  std::uint64_t left = kPolynomial;
  for (std::uint64_t bit = 8 * size; bit > 0; --bit) {
    if (left == difference) return bit - 1;
    left = crc_step(left);
  }
  return std::nullopt;
}

}  // namespace flor::store
