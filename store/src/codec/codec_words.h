// Loads, stores and converts words of the codec, and compiles each loop over them for several
// generations of processors. Included by the kernels only.
//
// A loop is a template over the word type. It is inlined into a plain function for each word width,
// because FLOR_CLONES works on plain functions only; the dynamic linker chooses the clone that
// suits the processor. The loops are plain C++, which the compiler vectorizes.
#pragma once

#include "codec/codec_kernels.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

static_assert(std::endian::native == std::endian::little,
              "the codec reads words as they lie in memory");

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FLOR_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define FLOR_CLONES
#endif
#define FLOR_INLINE __attribute__((always_inline)) inline

namespace flor::store::kernels {

template <class Word>
FLOR_INLINE Word load(const Byte* words, std::size_t index) {
  Word word;
  std::memcpy(&word, words + index * sizeof(Word), sizeof(Word));
  return word;
}

template <class Word>
FLOR_INLINE void store(Byte* words, std::size_t index, Word word) {
  std::memcpy(words + index * sizeof(Word), &word, sizeof(Word));
}

template <class Word>
inline constexpr unsigned kBits = std::numeric_limits<Word>::digits;

// Arithmetic on words narrower than int yields int, so the results are cast back.
template <bool kFloat, class Word>
FLOR_INLINE Word rotate_in(Word word) {
  if constexpr (!kFloat) return word;
  return static_cast<Word>(static_cast<Word>(word << 1) |
                           static_cast<Word>(word >> (kBits<Word> - 1)));
}

template <bool kFloat, class Word>
FLOR_INLINE Word rotate_out(Word word) {
  if constexpr (!kFloat) return word;
  return static_cast<Word>(static_cast<Word>(word >> 1) |
                           static_cast<Word>(word << (kBits<Word> - 1)));
}

// Flips all bits of a negative float and sets the sign bit of a positive one, so that the results,
// as unsigned integers, sort like the floats.
template <bool kFloat, class Word>
FLOR_INLINE Word order(Word word) {
  if constexpr (!kFloat) return word;
  const Word sign = static_cast<Word>(Word{0} - static_cast<Word>(word >> (kBits<Word> - 1)));
  return static_cast<Word>(word ^ (sign | static_cast<Word>(Word{1} << (kBits<Word> - 1))));
}

template <bool kFloat, class Word>
FLOR_INLINE Word unorder(Word word) {
  if constexpr (!kFloat) return word;
  const Word positive = static_cast<Word>(word >> (kBits<Word> - 1));
  const Word flip = static_cast<Word>(positive - Word{1});
  return static_cast<Word>(word ^ (flip | static_cast<Word>(Word{1} << (kBits<Word> - 1))));
}

template <class Word>
FLOR_INLINE Word zigzag(Word difference) {
  const Word sign = static_cast<Word>(Word{0} - static_cast<Word>(difference >> (kBits<Word> - 1)));
  return static_cast<Word>(static_cast<Word>(difference << 1) ^ sign);
}

template <class Word>
FLOR_INLINE Word unzigzag(Word value) {
  return static_cast<Word>(static_cast<Word>(value >> 1) ^
                           static_cast<Word>(Word{0} - (value & Word{1})));
}

template <bool kFloat, class Word>
FLOR_INLINE Word difference(Word word, Word base) {
  return zigzag(static_cast<Word>(order<kFloat>(word) - order<kFloat>(base)));
}

template <bool kFloat, class Word>
FLOR_INLINE Word successor(Word base, Word difference) {
  return unorder<kFloat>(static_cast<Word>(order<kFloat>(base) + unzigzag(difference)));
}

template <class Word>
FLOR_INLINE Byte bit_length(Word value) {
  using Wide = std::conditional_t<(sizeof(Word) < 4), std::uint32_t, Word>;
  return static_cast<Byte>(kBits<Wide> - static_cast<unsigned>(std::countl_zero(Wide{value})));
}

}  // namespace flor::store::kernels

/// Expands X(bits, Word) for every word.
#define FLOR_FOR_WORDS(X) \
  X(8, std::uint8_t)      \
  X(16, std::uint16_t)    \
  X(32, std::uint32_t)    \
  X(64, std::uint64_t)

/// The body of a function with a parameter `shape`: calls function_8, _16, _32 or _64.
#define FLOR_DISPATCH(function, ...)     \
  switch (shape.width) {                 \
    case 1:                              \
      return function##_8(__VA_ARGS__);  \
    case 2:                              \
      return function##_16(__VA_ARGS__); \
    case 4:                              \
      return function##_32(__VA_ARGS__); \
    default:                             \
      return function##_64(__VA_ARGS__); \
  }
