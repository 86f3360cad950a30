// The loops are templates over the word, inlined into one function for each processor generation
// (FLOR_CLONES), between which the dynamic linker chooses. They are plain C++: the compiler makes
// vector code of them.
#include "codec_kernels.h"

#include <algorithm>
#include <bit>
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
namespace {

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

// Arithmetic on words narrower than int is done in int by the language; the casts bring it back.
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

// All bits of a negative float are flipped and the sign bit of a positive one is set.
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

template <bool kFloat, class Word>
FLOR_INLINE void split_loop(const Byte* __restrict words, std::size_t count,
                            Byte* __restrict planes) {
  // Plane by plane over pieces that stay in the cache: loops that write one plane become vector
  // code, whereas one that writes eight does not.
  constexpr std::size_t kPiece = 512;
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t end = std::min(count, at + kPiece);
    for (unsigned p = 0; p < sizeof(Word); ++p) {
      Byte* plane = planes + p * count;
      for (std::size_t i = at; i < end; ++i) {
        plane[i] = static_cast<Byte>(rotate_in<kFloat>(load<Word>(words, i)) >> (8 * p));
      }
    }
  }
}

template <bool kFloat, class Word>
FLOR_INLINE void merge_loop(const PlanePointers& planes, std::size_t count,
                            Byte* __restrict words) {
  // Local copies: the compiler cannot know that the array is not among the words written.
  const Byte* local[sizeof(Word)];
  for (unsigned p = 0; p < sizeof(Word); ++p) local[p] = planes[p];
  for (std::size_t i = 0; i < count; ++i) {
    Word word = 0;
    for (unsigned p = 0; p < sizeof(Word); ++p) {
      word = static_cast<Word>(word | static_cast<Word>(Word{local[p][i]} << (8 * p)));
    }
    store<Word>(words, i, rotate_out<kFloat>(word));
  }
}

template <bool kFloat, class Word>
FLOR_INLINE void upper_loop(const Byte* __restrict words, std::size_t count,
                            Byte* __restrict plane) {
  for (std::size_t i = 0; i < count; ++i) {
    plane[i] = static_cast<Byte>(rotate_in<kFloat>(load<Word>(words, i)) >> (kBits<Word> - 8));
  }
}

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

constexpr unsigned kPutBits = 56;

// Collects bits and writes them out a word at a time; between values fewer than 8 bits are left.
class BitWriter {
 public:
  explicit BitWriter(Byte* out) : out_(out), begin_(out) {}

  // `value` has at most `width` <= kPutBits significant bits.
  FLOR_INLINE void put(std::uint64_t value, unsigned width) {
    pending_ |= value << filled_;
    filled_ += width;
    std::memcpy(out_, &pending_, sizeof pending_);
    out_ += filled_ >> 3;
    pending_ >>= filled_ & ~7U;
    filled_ &= 7U;
  }

  std::size_t finish() { return static_cast<std::size_t>(out_ - begin_) + (filled_ != 0 ? 1 : 0); }

 private:
  Byte* out_;
  Byte* begin_;
  std::uint64_t pending_ = 0;
  unsigned filled_ = 0;
};

FLOR_INLINE Byte packed_width(Byte bit_class) {
  return static_cast<Byte>(bit_class - (bit_class != 0 ? 1 : 0));
}

/// The highest bit of a value of this class; it is not stored.
template <class Word>
FLOR_INLINE Word highest_bit(Byte bit_class) {
  const Word bit = static_cast<Word>(Word{1} << ((bit_class - 1) & (kBits<Word> - 1)));
  return bit_class == 0 ? Word{0} : bit;
}

// Values are put and taken in groups where a group fits into one put: the chain through the
// position in the bits is what bounds the speed.
template <class Word>
inline constexpr std::size_t kGroup = sizeof(Word) <= 4 ? 8 / sizeof(Word) : 1;

template <class Word>
FLOR_INLINE unsigned group_width(const Byte* widths) {
  unsigned width = 0;
  for (std::size_t i = 0; i < kGroup<Word>; ++i) width += widths[i];
  return width;
}

template <class Word>
FLOR_INLINE void put_value(BitWriter& writer, std::uint64_t value, unsigned width) {
  if (sizeof(Word) == 8 && width > kPutBits) {
    writer.put(value & 0xffffffffU, 32);
    writer.put(value >> 32, width - 32);
  } else {
    writer.put(value, width);
  }
}

/// Writes widths[i] bits of values[i], which has no others.
template <class Word>
FLOR_INLINE void put_block(const Word* values, const Byte* widths, std::size_t count,
                           BitWriter& writer) {
  std::size_t i = 0;
  for (; kGroup<Word> > 1 && i + kGroup<Word> <= count; i += kGroup<Word>) {
    if (group_width<Word>(widths + i) > kPutBits) {
      for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
        put_value<Word>(writer, values[k], widths[k]);
      }
      continue;
    }
    std::uint64_t group = 0;
    unsigned width = 0;
    for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
      group |= std::uint64_t{values[k]} << width;
      width += widths[k];
    }
    writer.put(group, width);
  }
  for (; i < count; ++i) put_value<Word>(writer, values[i], widths[i]);
}

FLOR_INLINE std::uint64_t low_bits(std::uint64_t value, unsigned width) {
  return value & ((std::uint64_t{1} << width) - 1);  // width <= 63
}

// Reads at any bit position; touches up to 9 bytes from there.
class BitReader {
 public:
  explicit BitReader(const Byte* bits) : bits_(bits) {}

  /// At least kPutBits bits, the next one lowest.
  FLOR_INLINE std::uint64_t window() const {
    std::uint64_t window;
    std::memcpy(&window, bits_ + (position_ >> 3), sizeof window);
    return window >> (position_ & 7U);
  }
  /// 64 bits.
  FLOR_INLINE std::uint64_t full_window() const {
    const std::uint64_t above = bits_[(position_ >> 3) + 8];
    return window() | ((above << 1) << (63 - (position_ & 7U)));
  }
  FLOR_INLINE void skip(unsigned width) { position_ += width; }

 private:
  const Byte* bits_;
  std::uint64_t position_ = 0;
};

template <class Word>
FLOR_INLINE Word take_value(BitReader& reader, unsigned width) {
  const std::uint64_t window = sizeof(Word) == 8 ? reader.full_window() : reader.window();
  reader.skip(width);
  return static_cast<Word>(low_bits(window, width));
}

/// Undoes put_block.
template <class Word>
FLOR_INLINE void take_block(BitReader& reader, const Byte* widths, std::size_t count,
                            Word* values) {
  std::size_t i = 0;
  for (; kGroup<Word> > 1 && i + kGroup<Word> <= count; i += kGroup<Word>) {
    const unsigned total = group_width<Word>(widths + i);
    if (total > kPutBits) {
      for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
        values[k] = take_value<Word>(reader, widths[k]);
      }
      continue;
    }
    std::uint64_t window = reader.window();
    for (std::size_t k = i; k < i + kGroup<Word>; ++k) {
      values[k] = static_cast<Word>(low_bits(window, widths[k]));
      window >>= widths[k];
    }
    reader.skip(total);
  }
  for (; i < count; ++i) values[i] = take_value<Word>(reader, widths[i]);
}

// Blocks of differences stay in the first-level cache between the steps. All but putting and taking
// the bits is vector code.
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
                             const Byte* __restrict base, std::size_t count,
                             Byte* __restrict words) {
  Word values[kBlockWords];
  Byte widths[kBlockWords];
  BitReader reader(bits);
  for (std::size_t at = 0; at < count; at += kBlockWords) {
    const std::size_t size = std::min(kBlockWords, count - at);
    for (std::size_t i = 0; i < size; ++i) widths[i] = packed_width(classes[at + i]);
    take_block<Word>(reader, widths, size, values);
    for (std::size_t i = 0; i < size; ++i) {
      const Word value = static_cast<Word>(values[i] | highest_bit<Word>(classes[at + i]));
      store<Word>(words, at + i, successor<kFloat>(load<Word>(base, at + i), value));
    }
  }
}

template <class Word>
FLOR_INLINE std::size_t keep_loop(const Byte* __restrict words, std::size_t count,
                                  Byte* __restrict mask, Byte* __restrict kept) {
  std::size_t size = 0;
  for (std::size_t at = 0; at < count; at += 8) {
    const std::size_t end = std::min(count, at + 8);
    unsigned bits = 0;
    for (std::size_t i = at; i < end; ++i) {
      const Word word = load<Word>(words, i);
      const unsigned nonzero = word != 0 ? 1 : 0;
      store<Word>(kept, size, word);
      size += nonzero;
      bits |= nonzero << (i - at);
    }
    mask[at / 8] = static_cast<Byte>(bits);
  }
  return size;
}

template <class Word>
FLOR_INLINE void spread_loop(const Byte* __restrict mask, const Byte* __restrict kept,
                             std::size_t count, Byte* __restrict words) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned bit = (mask[i / 8] >> (i % 8)) & 1U;
    store<Word>(words, i,
                static_cast<Word>(load<Word>(kept, next) &
                                  static_cast<Word>(Word{0} - static_cast<Word>(bit))));
    next += bit;
  }
}

}  // namespace

// One clone per word: FLOR_CLONES works on plain functions only.
#define FLOR_FOR_WORDS(X) \
  X(8, std::uint8_t)      \
  X(16, std::uint16_t)    \
  X(32, std::uint32_t)    \
  X(64, std::uint64_t)

namespace {

#define FLOR_DEFINE(bits_, Word)                                                                   \
  FLOR_CLONES void split_##bits_(bool is_float, const Byte* words, std::size_t count,              \
                                 Byte* planes) {                                                   \
    if (is_float) {                                                                                \
      split_loop<true, Word>(words, count, planes);                                                \
    } else {                                                                                       \
      split_loop<false, Word>(words, count, planes);                                               \
    }                                                                                              \
  }                                                                                                \
  FLOR_CLONES void merge_##bits_(bool is_float, const PlanePointers& planes, std::size_t count,    \
                                 Byte* words) {                                                    \
    if (is_float) {                                                                                \
      merge_loop<true, Word>(planes, count, words);                                                \
    } else {                                                                                       \
      merge_loop<false, Word>(planes, count, words);                                               \
    }                                                                                              \
  }                                                                                                \
  FLOR_CLONES void upper_##bits_(bool is_float, const Byte* words, std::size_t count,              \
                                 Byte* plane) {                                                    \
    if (is_float) {                                                                                \
      upper_loop<true, Word>(words, count, plane);                                                 \
    } else {                                                                                       \
      upper_loop<false, Word>(words, count, plane);                                                \
    }                                                                                              \
  }                                                                                                \
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
  FLOR_CLONES std::size_t keep_##bits_(const Byte* words, std::size_t count, Byte* mask,           \
                                       Byte* kept) {                                               \
    return keep_loop<Word>(words, count, mask, kept);                                              \
  }                                                                                                \
  FLOR_CLONES void spread_##bits_(const Byte* mask, const Byte* kept, std::size_t count,           \
                                  Byte* words) {                                                   \
    spread_loop<Word>(mask, kept, count, words);                                                   \
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
    std::uint32_t some = 0;  // narrow sums make more lanes
    for (std::size_t i = at; i < end; ++i) some += packed_width(classes[i]);
    bits += some;
  }
  return bits;
}

FLOR_CLONES std::size_t set_bits_clones(const Byte* mask, std::size_t bytes) {
  std::size_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) bits += static_cast<std::size_t>(std::popcount(mask[i]));
  return bits;
}

FLOR_CLONES void subtract_bytes_clones(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Byte>(a[i] - b[i]);
}

FLOR_CLONES void add_bytes_clones(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Byte>(a[i] + b[i]);
}

}  // namespace

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

void split(WordShape shape, const Byte* words, std::size_t count, Byte* planes) {
  FLOR_DISPATCH(split, shape.is_float, words, count, planes);
}

void merge(WordShape shape, const PlanePointers& planes, std::size_t count, Byte* words) {
  FLOR_DISPATCH(merge, shape.is_float, planes, count, words);
}

void upper_plane(WordShape shape, const Byte* words, std::size_t count, Byte* plane) {
  FLOR_DISPATCH(upper, shape.is_float, words, count, plane);
}

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

std::size_t keep_nonzero(WordShape shape, const Byte* words, std::size_t count, Byte* mask,
                         Byte* kept) {
  FLOR_DISPATCH(keep, words, count, mask, kept);
}

void spread_nonzero(WordShape shape, const Byte* mask, const Byte* kept, std::size_t count,
                    Byte* words) {
  FLOR_DISPATCH(spread, mask, kept, count, words);
}

std::size_t set_bits(const Byte* mask, std::size_t bytes) { return set_bits_clones(mask, bytes); }

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

void subtract_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  subtract_bytes_clones(a, b, count, out);
}

void add_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  add_bytes_clones(a, b, count, out);
}

}  // namespace flor::store::kernels
