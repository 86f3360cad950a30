// Kernels that rearrange bytes: byte planes, and leaving out words that are zero.
#include "codec/codec_kernels.h"
#include "codec/codec_unpack.h"
#include "codec/codec_words.h"

#include <algorithm>
#include <bit>

namespace flor::store::kernels {
namespace {

template <bool kFloat, class Word>
FLOR_INLINE void split_loop(const Byte* __restrict words, std::size_t count,
                            Byte* __restrict planes) {
  // Writes one plane after another over pieces that stay in the cache. The compiler vectorizes
  // loops that write one plane, but not a loop that writes eight.
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
  // Copied to local variables, because the compiler must assume that writing words changes
  // `planes`.
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
  std::size_t done = 0;
  if (sizeof(Word) == 4 && has_vectors()) {
    done = count - count % kSpreadGroup;
    next = spread_words(mask, kept, done, words);
  }
  for (std::size_t i = done; i < count; ++i) {
    const unsigned bit = (mask[i / 8] >> (i % 8)) & 1U;
    store<Word>(words, i,
                static_cast<Word>(load<Word>(kept, next) &
                                  static_cast<Word>(Word{0} - static_cast<Word>(bit))));
    next += bit;
  }
}

#define FLOR_DEFINE(bits_, Word)                                                                \
  FLOR_CLONES void split_##bits_(bool is_float, const Byte* words, std::size_t count,           \
                                 Byte* planes) {                                                \
    if (is_float) {                                                                             \
      split_loop<true, Word>(words, count, planes);                                             \
    } else {                                                                                    \
      split_loop<false, Word>(words, count, planes);                                            \
    }                                                                                           \
  }                                                                                             \
  FLOR_CLONES void merge_##bits_(bool is_float, const PlanePointers& planes, std::size_t count, \
                                 Byte* words) {                                                 \
    if (is_float) {                                                                             \
      merge_loop<true, Word>(planes, count, words);                                             \
    } else {                                                                                    \
      merge_loop<false, Word>(planes, count, words);                                            \
    }                                                                                           \
  }                                                                                             \
  FLOR_CLONES void upper_##bits_(bool is_float, const Byte* words, std::size_t count,           \
                                 Byte* plane) {                                                 \
    if (is_float) {                                                                             \
      upper_loop<true, Word>(words, count, plane);                                              \
    } else {                                                                                    \
      upper_loop<false, Word>(words, count, plane);                                             \
    }                                                                                           \
  }                                                                                             \
  FLOR_CLONES std::size_t keep_##bits_(const Byte* words, std::size_t count, Byte* mask,        \
                                       Byte* kept) {                                            \
    return keep_loop<Word>(words, count, mask, kept);                                           \
  }                                                                                             \
  FLOR_CLONES void spread_##bits_(const Byte* mask, const Byte* kept, std::size_t count,        \
                                  Byte* words) {                                                \
    spread_loop<Word>(mask, kept, count, words);                                                \
  }
FLOR_FOR_WORDS(FLOR_DEFINE)
#undef FLOR_DEFINE

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

void split(WordShape shape, const Byte* words, std::size_t count, Byte* planes) {
  FLOR_DISPATCH(split, shape.is_float, words, count, planes);
}

void merge(WordShape shape, const PlanePointers& planes, std::size_t count, Byte* words) {
  FLOR_DISPATCH(merge, shape.is_float, planes, count, words);
}

void upper_plane(WordShape shape, const Byte* words, std::size_t count, Byte* plane) {
  FLOR_DISPATCH(upper, shape.is_float, words, count, plane);
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

void subtract_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  subtract_bytes_clones(a, b, count, out);
}

void add_bytes(const Byte* a, const Byte* b, std::size_t count, Byte* out) {
  add_bytes_clones(a, b, count, out);
}

}  // namespace flor::store::kernels
