// The loops of the codec over whole chunks: words to byte planes, words to differences, differences
// to bit lengths and bits, and the reverse. They know nothing of payloads and check nothing.
//
// Words are little-endian and need no alignment; `count` is a number of words. Outputs must not
// overlap inputs unless a comment says that they may.
#pragma once

#include "codec/codec_forms.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace flor::store::kernels {

using Byte = std::uint8_t;
inline constexpr unsigned kMaxWidth = 8;
using PlanePointers = std::array<const Byte*, kMaxWidth>;

/// Splits words into shape.width planes of `count` bytes each: `planes` receives the plane of the
/// least significant bytes first. Floats are first rotated left by one bit, so that the uppermost
/// byte of an f32 or bf16 is its exponent.
void split(WordShape shape, const Byte* words, std::size_t count, Byte* planes);
void merge(WordShape shape, const PlanePointers& planes, std::size_t count, Byte* words);

/// Extracts the uppermost byte of each word, equal to the last plane of `split`.
void upper_plane(WordShape shape, const Byte* words, std::size_t count, Byte* plane);

/// values[i] = zigzag(order(words[i]) - order(base[i])). `order` maps floats to integers that sort
/// alike, and integers to themselves. `values` are words of the same width.
void subtract(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
              Byte* values);
/// Reverses `subtract`. `values` and `words` may be the same memory.
void add(WordShape shape, const Byte* values, const Byte* base, std::size_t count, Byte* words);

/// classes[i] = number of significant bits of values[i], from 0 to 8 * width.
void classify(WordShape shape, const Byte* values, std::size_t count, Byte* classes);

/// Returns the number of bits that `pack` writes for these classes: class - 1 each, 0 for class 0.
std::uint64_t packed_bits(const Byte* classes, std::size_t count);
/// Returns the largest class.
Byte largest(const Byte* classes, std::size_t count);

/// Number of bytes that `pack` and `unpack` may access beyond the last one in use.
inline constexpr std::size_t kPackSlack = 16;

/// Computes the classes of the differences of `subtract`, and writes to `bits` what is below the
/// highest set bit of each difference, least significant first, without gaps. Returns the number of
/// bytes written, ceil(packed_bits / 8); up to kPackSlack more are overwritten.
std::size_t pack(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
                 Byte* classes, Byte* bits);
/// Reverses `pack`. No class may exceed 8 * width. Reads up to kPackSlack bytes beyond the last one
/// in use. `base` and `words` may be the same memory.
void unpack(WordShape shape, const Byte* bits, const Byte* classes, const Byte* base,
            std::size_t count, Byte* words);

/// Copies the nonzero words to `kept` (with room for `count`), and sets their bits in `mask`
/// (mask_bytes(count) bytes, lowest bit first). Returns the number of nonzero words.
std::size_t keep_nonzero(WordShape shape, const Byte* words, std::size_t count, Byte* mask,
                         Byte* kept);
/// Number of bytes that `spread_nonzero`, the reverse of `keep_nonzero`, may read beyond `kept`.
inline constexpr std::size_t kSpreadSlack = 32;
void spread_nonzero(WordShape shape, const Byte* mask, const Byte* kept, std::size_t count,
                    Byte* words);
constexpr std::size_t mask_bytes(std::size_t count) { return (count + 7) / 8; }
/// Returns the number of set bits.
std::size_t set_bits(const Byte* mask, std::size_t bytes);

/// out[i] = in[i] + exponent(base[i]), or minus, modulo 256. `in` and `out` may be the same memory.
void add_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count, Byte* out);
void subtract_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count,
                        Byte* out);
/// out[i] = a[i] - b[i], or a[i] + b[i], modulo 256. `out` may be the same memory as `a` or `b`.
void subtract_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out);
void add_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out);

}  // namespace flor::store::kernels
