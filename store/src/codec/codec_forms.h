// The forms that a payload can have, and how each element type is split into words. These numbers
// are on disk; docs/internals/format-codecs.md describes every byte.
#pragma once

#include <flor/store/checkpoint.h>

#include <cstddef>
#include <cstdint>

namespace flor::store {

/// The codec number stored next to a payload. Append only.
enum class Form : std::uint8_t {
  raw = 0,                  ///< the unchanged bytes
  repeat = 1,               ///< one element that is repeated
  planes = 2,               ///< split into byte planes
  same = 3,                 ///< equal to the base
  class_bits = 4,           ///< difference: bit lengths, then the bits below the highest set one
  scaled_class_bits = 5,    ///< like class_bits, but each bit length has the base's exponent added
  exponent_difference = 6,  ///< byte planes; the uppermost is a difference
  difference_planes = 7,    ///< difference, split into byte planes
  sparse_planes = 8,        ///< a mask of the words that are not zero, and the byte planes of these
                            ///< words
};

inline constexpr Form kLastForm = Form::sparse_planes;

constexpr bool needs_base(Form form) {
  return form == Form::same || form == Form::class_bits || form == Form::scaled_class_bits ||
         form == Form::exponent_difference || form == Form::difference_planes;
}

/// Forms that exist only for floats.
constexpr bool needs_float(Form form) {
  return form == Form::class_bits || form == Form::scaled_class_bits ||
         form == Form::exponent_difference || form == Form::sparse_planes;
}

/// A word as the codec sees it: an element, or the real or imaginary part of a complex element.
struct WordShape {
  unsigned width = 1;          ///< bytes per word: 1, 2, 4 or 8
  bool is_float = false;       ///< has sign, exponent and mantissa from the top, as in IEEE 754
  unsigned mantissa_bits = 0;  ///< 0 if not a float
};

/// Throws Damaged if this version does not know the type.
WordShape word_shape(ElementType type);

}  // namespace flor::store
