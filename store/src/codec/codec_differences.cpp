// Kernels for differences to the base: order-preserving integers, bit lengths (classes), and packed
// bits.
#include "codec/codec_bits.h"
#include "codec/codec_kernels.h"
#include "codec/codec_words.h"

#include <algorithm>

namespace flor::store::kernels {
namespace {

template <bool kFloat, class Word>
FLOR_INLINE void subtract_loop(const Byte* __restrict words, const Byte* __restrict base,
                               std::size_t count, Byte* __restrict values) {
  for (std::size_t i = 0; i < count; ++i) {
    store<Word>(values, i, difference<kFloat>(load<Word>(words, i), load<Word>(base, i)));
  }
}

template <bool kFloat, class Word>
FLOR_INLINE void add_loop(const Byte* values, const Byte* base, std::size_t count, Byte* words) {
  for (std::size_t i = 0; i < count; ++i) {
    store<Word>(words, i, successor<kFloat>(load<Word>(base, i), load<Word>(values, i)));
  }
}

template <class Word>
FLOR_INLINE void classify_loop(const Byte* __restrict values, std::size_t count,
                               Byte* __restrict classes) {
  for (std::size_t i = 0; i < count; ++i) classes[i] = bit_length(load<Word>(values, i));
}

template <class Word>
FLOR_INLINE Byte exponent(Word word, unsigned mantissa_bits) {
  return static_cast<Byte>(static_cast<Word>(word << 1) >> (mantissa_bits + 1));
}

template <class Word>
FLOR_INLINE void add_exponents_loop(unsigned mantissa_bits, const Byte* in, const Byte* base,
                                    std::size_t count, Byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Byte>(in[i] + exponent(load<Word>(base, i), mantissa_bits));
  }
}

template <class Word>
FLOR_INLINE void subtract_exponents_loop(unsigned mantissa_bits, const Byte* in, const Byte* base,
                                         std::size_t count, Byte* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Byte>(in[i] - exponent(load<Word>(base, i), mantissa_bits));
  }
}

// Number of words processed together, so that differences stay in the first-level cache between the
// steps. All steps but reading and writing bits are vectorized.
constexpr std::size_t kBlockWords = 1024;

template <bool kFloat, class Word>
FLOR_INLINE std::size_t pack_loop(const Byte* __restrict words, const Byte* __restrict base,
                                  std::size_t count, Byte* __restrict classes,
                                  Byte* __restrict bits) {
  Word values[kBlockWords];
  Byte widths[kBlockWords];
  BitWriter writer(bits);
  for (std::size_t at = 0; at < count; at += kBlockWords) {
    const std::size_t size = std::min(kBlockWords, count - at);
    for (std::size_t i = 0; i < size; ++i) {
      values[i] = difference<kFloat>(load<Word>(words, at + i), load<Word>(base, at + i));
    }
    for (std::size_t i = 0; i < size; ++i) classes[at + i] = bit_length(values[i]);
    for (std::size_t i = 0; i < size; ++i) {
      values[i] = static_cast<Word>(values[i] ^ highest_bit<Word>(classes[at + i]));
    }
    for (std::size_t i = 0; i < size; ++i) widths[i] = packed_width(classes[at + i]);
    put_block<Word>(values, widths, size, writer);
  }
  return writer.finish();
}

template <bool kFloat, class Word>
FLOR_INLINE void unpack_loop(const Byte* __restrict bits, const Byte* __restrict classes,
                             const Byte* base, std::size_t count, Byte* words) {
  static_assert(kBlockWords <= kTakeMax);
  Word values[kBlockWords];
  Byte widths[kBlockWords];
  BitReader reader(bits);
  for (std::size_t at = 0; at < count; at += kBlockWords) {
    const std::size_t size = std::min(kBlockWords, count - at);
    for (std::size_t i = 0; i < size; ++i) widths[i] = packed_width(classes[at + i]);
    take_block<Word>(reader, widths, size, values);
    // Uses `values` as intermediate memory, because `base` and `words` may be the same.
    for (std::size_t i = 0; i < size; ++i) {
      const Word value = static_cast<Word>(values[i] | highest_bit<Word>(classes[at + i]));
      values[i] = successor<kFloat>(load<Word>(base, at + i), value);
    }
    std::memcpy(words + at * sizeof(Word), values, size * sizeof(Word));
  }
}

#define FLOR_DEFINE(bits_, Word)                                                                   \
  FLOR_CLONES void subtract_##bits_(bool is_float, const Byte* words, const Byte* base,            \
                                    std::size_t count, Byte* values) {                             \
    if (is_float) {                                                                                \
      subtract_loop<true, Word>(words, base, count, values);                                       \
    } else {                                                                                       \
      subtract_loop<false, Word>(words, base, count, values);                                      \
    }                                                                                              \
  }                                                                                                \
  FLOR_CLONES void add_##bits_(bool is_float, const Byte* values, const Byte* base,                \
                               std::size_t count, Byte* words) {                                   \
    if (is_float) {                                                                                \
      add_loop<true, Word>(values, base, count, words);                                            \
    } else {                                                                                       \
      add_loop<false, Word>(values, base, count, words);                                           \
    }                                                                                              \
  }                                                                                                \
  FLOR_CLONES void classify_##bits_(const Byte* values, std::size_t count, Byte* classes) {        \
    classify_loop<Word>(values, count, classes);                                                   \
  }                                                                                                \
  FLOR_CLONES std::size_t pack_##bits_(bool is_float, const Byte* words, const Byte* base,         \
                                       std::size_t count, Byte* classes, Byte* bits) {             \
    return is_float ? pack_loop<true, Word>(words, base, count, classes, bits)                     \
                    : pack_loop<false, Word>(words, base, count, classes, bits);                   \
  }                                                                                                \
  FLOR_CLONES void unpack_##bits_(bool is_float, const Byte* bits, const Byte* classes,            \
                                  const Byte* base, std::size_t count, Byte* words) {              \
    if (is_float) {                                                                                \
      unpack_loop<true, Word>(bits, classes, base, count, words);                                  \
    } else {                                                                                       \
      unpack_loop<false, Word>(bits, classes, base, count, words);                                 \
    }                                                                                              \
  }                                                                                                \
  FLOR_CLONES void add_exponents_##bits_(unsigned mantissa_bits, const Byte* in, const Byte* base, \
                                         std::size_t count, Byte* out) {                           \
    add_exponents_loop<Word>(mantissa_bits, in, base, count, out);                                 \
  }                                                                                                \
  FLOR_CLONES void subtract_exponents_##bits_(unsigned mantissa_bits, const Byte* in,              \
                                              const Byte* base, std::size_t count, Byte* out) {    \
    subtract_exponents_loop<Word>(mantissa_bits, in, base, count, out);                            \
  }
FLOR_FOR_WORDS(FLOR_DEFINE)
#undef FLOR_DEFINE

FLOR_CLONES Byte largest_clones(const Byte* classes, std::size_t count) {
  Byte most = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, classes[i]);
  return most;
}

FLOR_CLONES std::uint64_t packed_bits_clones(const Byte* classes, std::size_t count) {
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < count; at += kBlockWords) {
    const std::size_t end = std::min(count, at + kBlockWords);
    std::uint32_t some = 0;  // a narrow type gives more vector lanes
    for (std::size_t i = at; i < end; ++i) some += packed_width(classes[i]);
    bits += some;
  }
  return bits;
}

}  // namespace

void subtract(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
              Byte* values) {
  FLOR_DISPATCH(subtract, shape.is_float, words, base, count, values);
}

void add(WordShape shape, const Byte* values, const Byte* base, std::size_t count, Byte* words) {
  FLOR_DISPATCH(add, shape.is_float, values, base, count, words);
}

void classify(WordShape shape, const Byte* values, std::size_t count, Byte* classes) {
  FLOR_DISPATCH(classify, values, count, classes);
}

std::size_t pack(WordShape shape, const Byte* words, const Byte* base, std::size_t count,
                 Byte* classes, Byte* bits) {
  FLOR_DISPATCH(pack, shape.is_float, words, base, count, classes, bits);
}

void unpack(WordShape shape, const Byte* bits, const Byte* classes, const Byte* base,
            std::size_t count, Byte* words) {
  FLOR_DISPATCH(unpack, shape.is_float, bits, classes, base, count, words);
}

void add_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count,
                   Byte* out) {
  FLOR_DISPATCH(add_exponents, shape.mantissa_bits, in, base, count, out);
}

void subtract_exponents(WordShape shape, const Byte* in, const Byte* base, std::size_t count,
                        Byte* out) {
  FLOR_DISPATCH(subtract_exponents, shape.mantissa_bits, in, base, count, out);
}

Byte largest(const Byte* classes, std::size_t count) { return largest_clones(classes, count); }

std::uint64_t packed_bits(const Byte* classes, std::size_t count) {
  return packed_bits_clones(classes, count);
}

}  // namespace flor::store::kernels
