// Integers of the store's file format, which are little-endian on every machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// Writes `value` at the beginning of `bytes`, which must be long enough.
template <std::unsigned_integral T>
void put(std::span<std::byte> bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes[i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
  }
}

template <std::unsigned_integral T>
void append(std::vector<std::byte>& bytes, T value) {
  bytes.resize(bytes.size() + sizeof(T));
  put(std::span(bytes).last(sizeof(T)), value);
}

/// Reads an integer from the beginning of `bytes`, which must be long enough.
template <std::unsigned_integral T>
T get(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return static_cast<T>(value);
}

}  // namespace flor::store
