// The loops of the codec over whole chunks: words to byte planes, words to differences, differences
// to bit lengths and bits, and back. Nothing here knows of payloads or checks them.
//
// Words are little-endian and need no alignment; `count` counts words. Outputs must not overlap
// inputs unless it is said that they may.
#pragma once

#include "codec/codec_forms.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace flor::store::kernels {

using Byte = std::uint8_t;
inline constexpr unsigned kMaxWidth = 8;
using PlanePointers = std::array<const Byte*, kMaxWidth>;

/// Cuts words into shape.width planes of `count` bytes each, the least significant first and one
/// after the other in `planes`. Floats are first rotated left by one bit, which makes the exponent
/// of an f32 or bf16 the uppermost byte.
void split(WordShape shape, const Byte* words, std::size_t count, Byte* planes);
void merge(WordShape shape, const PlanePointers& planes, std::size_t count, Byte* words);

/// The uppermost byte of each word, as `split` would give it.
void upper_plane(WordShape shape, const Byte* words, std::size_t count, Byte* plane);

/// values[i] = zigzag(order(words[i]) - order(base[i])) where `order` maps floats to integers that
/// sort alike (integers to themselves). `values` are words of the same width.
void subtract(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
              Byte* values);
/// Undoes `subtract`. `values` may be `words`.
void add(WordShape shape, const Byte* values, const Byte* base, std::size_t count, Byte* words);

/// classes[i] = number of significant bits of values[i], 0 to 8 * width.
void classify(WordShape shape, const Byte* values, std::size_t count, Byte* classes);

/// Sum of the bits that `pack` writes for these classes: class - 1 each, 0 for class 0.
std::uint64_t packed_bits(const Byte* classes, std::size_t count);
/// The largest class.
Byte largest(const Byte* classes, std::size_t count);

/// Bytes that `pack` and `unpack` may touch after the last one that counts.
inline constexpr std::size_t kPackSlack = 16;

/// Classes of the differences that `subtract` gives, and the bits below the highest of each, least
/// significant first, without gaps. Returns the number of bytes of these bits,
/// ceil(packed_bits / 8); up to kPackSlack more are overwritten.
std::size_t pack(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
                 Byte* classes, Byte* bits);
/// Reverses `pack`. No class may be above 8 * width. Reads up to kPackSlack bytes after the last
/// that counts. `base` may be `words`.
void unpack(WordShape shape, const Byte* bits, const Byte* classes, const Byte* base,
            std::size_t count, Byte* words);

/// Copies the words that are not zero to `kept` (room for `count`) and sets their bits in `mask`,
/// of mask_bytes(count), lowest bit first. Returns how many they are.
std::size_t keep_nonzero(WordShape shape, const Byte* words, std::size_t count, Byte* mask,
                         Byte* kept);
/// Reverses `keep_nonzero`; reads up to kSpreadSlack bytes after the last of `kept`.
inline constexpr std::size_t kSpreadSlack = 32;
void spread_nonzero(WordShape shape, const Byte* mask, const Byte* kept, std::size_t count,
                    Byte* words);
constexpr std::size_t mask_bytes(std::size_t count) { return (count + 7) / 8; }
/// Number of bits that are set.
std::size_t set_bits(const Byte* mask, std::size_t bytes);

/// out[i] = in[i] + exponent(base[i]) and the reverse, modulo 256. `in` may be `out`.
void add_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count, Byte* out);
void subtract_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count,
                        Byte* out);
/// out[i] = a[i] - b[i] and a[i] + b[i], modulo 256. Either input may be `out`.
void subtract_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out);
void add_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out);

}  // namespace flor::store::kernels
