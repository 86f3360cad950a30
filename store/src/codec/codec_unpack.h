// Vector instructions for unpacking bits and words, where the processor has them: the compiler does
// not vectorize such loops by itself. Used by the kernels only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flor::store::kernels {

/// Fields of up to so many bits can be taken by `take_fields`.
inline constexpr unsigned kFieldBits = 25;
/// `take_fields` takes so many at a time.
inline constexpr std::size_t kFieldGroup = 16;

/// Whether this processor has the instructions for `take_fields` and `spread_words`.
bool has_vectors();

/// `spread_words` does so many at a time.
inline constexpr std::size_t kSpreadGroup = 8;

/// words[i] = the next one of `kept` where bit i of `mask` is set, and 0 elsewhere, for `count`
/// words, a multiple of kSpreadGroup. Reads up to kSpreadGroup words beyond those that it takes.
/// Returns the words taken.
std::size_t spread_words(const std::uint8_t* mask, const std::uint8_t* kept, std::size_t count,
                         std::uint8_t* words);

struct FieldsTaken {
  std::size_t count = 0;   ///< a multiple of kFieldGroup
  std::uint32_t bits = 0;  ///< that they had
};

/// Takes fields of widths[i] bits, which lie without gaps from bit `position` on, up to the first
/// group that has one of more than kFieldBits or is not full; `position` < 8. The sum of all widths
/// must be below 2^32 - 8. Touches up to 16 bytes from the byte in which the last group begins.
FieldsTaken take_fields(const std::uint8_t* bits, unsigned position, const std::uint8_t* widths,
                        std::size_t count, std::uint32_t* values);

}  // namespace flor::store::kernels
