// The forms a payload can have and how each element type is cut into words. These values are on
// disk; docs/internals/format-codecs.md describes every byte.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>

namespace flor::store {

/// The codec byte stored beside a payload. Append only.
enum class Form : std::uint8_t {
  raw = 0,                  ///< the bytes themselves
  repeat = 1,               ///< one element, over and over
  planes = 2,               ///< byte planes
  same = 3,                 ///< equal to the base
  class_bits = 4,           ///< difference: bit lengths, then the bits below the highest
  scaled_class_bits = 5,    ///< the same, bit length plus the exponent of the base
  exponent_difference = 6,  ///< byte planes, the uppermost as a difference
  difference_planes = 7,    ///< difference: byte planes
  sparse_planes = 8,        ///< which words are not zero, and the byte planes of those
};

inline constexpr Form kLastForm = Form::sparse_planes;

constexpr bool needs_base(Form form) {
  return form == Form::same || form == Form::class_bits || form == Form::scaled_class_bits ||
         form == Form::exponent_difference || form == Form::difference_planes;
}

/// Forms that have a meaning for floats alone.
constexpr bool needs_float(Form form) {
  return form == Form::class_bits || form == Form::scaled_class_bits ||
         form == Form::exponent_difference || form == Form::sparse_planes;
}

/// The word that the codec sees: complex numbers are cut into their parts.
struct WordShape {
  unsigned width = 1;          ///< bytes a word: 1, 2, 4 or 8
  bool is_float = false;       ///< IEEE-like: sign, exponent, mantissa from the top
  unsigned mantissa_bits = 0;  ///< of a float
};

/// Throws Damaged for a type that this version does not know.
WordShape word_shape(ElementType type);

}  // namespace flor::store
