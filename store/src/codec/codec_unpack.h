// Vector instructions for unpacking bits and words, on processors that have them. Written by hand
// because the compiler does not vectorize these loops. Used by the kernels only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flor::store::kernels {

/// `take_fields` can read fields of up to this number of bits.
inline constexpr unsigned kFieldBits = 25;
/// `take_fields` reads this number of fields at a time.
inline constexpr std::size_t kFieldGroup = 16;

/// True if this processor has the instructions for `take_fields` and `spread_words`.
bool has_vectors();

/// `spread_words` writes this number of words at a time.
inline constexpr std::size_t kSpreadGroup = 8;

/// Sets words[i] to the next word of `kept` if bit i of `mask` is set, and to 0 otherwise. `count`
/// must be a multiple of kSpreadGroup. Reads up to kSpreadGroup words beyond those in use. Returns
/// the number of words taken from `kept`.
std::size_t spread_words(const std::uint8_t* mask, const std::uint8_t* kept, std::size_t count,
                         std::uint8_t* words);

struct FieldsTaken {
  std::size_t count = 0;   ///< a multiple of kFieldGroup
  std::uint32_t bits = 0;  ///< total number of their bits
};

/// Reads fields of widths[i] bits, which lie without gaps from bit `position` (below 8) on. Stops
/// before the first group that is incomplete or has a field of more than kFieldBits. The sum of all
/// widths must be below 2^32 - 8. Accesses up to 16 bytes from the byte where the last group
/// begins.
FieldsTaken take_fields(const std::uint8_t* bits, unsigned position, const std::uint8_t* widths,
                        std::size_t count, std::uint32_t* values);

}  // namespace flor::store::kernels
