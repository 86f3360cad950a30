#include "codec/codec_unpack.h"

#include <array>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace flor::store::kernels {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

/// Extracts eight fields, four in each half of the result. Loads the 16 bytes in which the four
/// fields begin, shuffles four bytes to each field, and shifts them right by its bit offset.
[[gnu::target("avx2")]] __m256i take_eight(const std::uint8_t* low, const std::uint8_t* high,
                                           __m256i starts, __m256i widths) {
  const __m256i pairs = _mm256_add_epi32(widths, _mm256_slli_si256(widths, 4));
  const __m256i ends = _mm256_add_epi32(pairs, _mm256_slli_si256(pairs, 8));
  const __m256i seven = _mm256_set1_epi32(7);
  const __m256i at =
      _mm256_add_epi32(_mm256_sub_epi32(ends, widths), _mm256_and_si256(starts, seven));
  const __m256i lowest_byte = _mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12,
                                               0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
  const __m256i four_bytes = _mm256_set1_epi32(0x03020100);
  const __m256i places =
      _mm256_add_epi8(_mm256_shuffle_epi8(_mm256_srli_epi32(at, 3), lowest_byte), four_bytes);
  const __m256i bytes = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low))),
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(high)), 1);
  const __m256i fields =
      _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, places), _mm256_and_si256(at, seven));
  const __m256i one = _mm256_set1_epi32(1);
  return _mm256_and_si256(fields, _mm256_sub_epi32(_mm256_sllv_epi32(one, widths), one));
}

[[gnu::target("avx2")]] FieldsTaken take_fields_avx2(const std::uint8_t* bits, unsigned position,
                                                     const std::uint8_t* widths, std::size_t count,
                                                     std::uint32_t* values) {
  const __m128i most = _mm_set1_epi8(kFieldBits);
  std::uint32_t at = position;
  std::size_t i = 0;
  for (; i + kFieldGroup <= count; i += kFieldGroup) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(widths + i));
    const __m128i is_short = _mm_cmpeq_epi8(_mm_max_epu8(some, most), most);
    if (_mm_movemask_epi8(is_short) != 0xffff) break;
    // Computes where each group of four fields begins.
    const __m128i sums =
        _mm_madd_epi16(_mm_maddubs_epi16(some, _mm_set1_epi8(1)), _mm_set1_epi16(1));
    const __m128i pairs = _mm_add_epi32(sums, _mm_slli_si128(sums, 4));
    const __m128i ends = _mm_add_epi32(pairs, _mm_slli_si128(pairs, 8));
    const __m128i starts =
        _mm_add_epi32(_mm_sub_epi32(ends, sums), _mm_set1_epi32(static_cast<int>(at)));
    alignas(16) std::uint32_t start[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(start), starts);
    const __m256i both = _mm256_castsi128_si256(starts);
    const auto take = [&](int half) __attribute__((target("avx2"))) {
      const __m256i places = half == 0 ? _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1)
                                       : _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3);
      const __m128i eight = half == 0 ? some : _mm_srli_si128(some, 8);
      const __m256i fields =
          take_eight(bits + (start[2 * half] >> 3), bits + (start[2 * half + 1] >> 3),
                     _mm256_permutevar8x32_epi32(both, places), _mm256_cvtepu8_epi32(eight));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(values + i + 8 * half), fields);
    };
    take(0);
    take(1);
    at += static_cast<std::uint32_t>(_mm_extract_epi32(ends, 3));
  }
  return {i, at - position};
}

/// For each byte of a mask: the index of the source word for each of eight words; negative: zero.
constexpr auto kPlaces = [] {
  std::array<std::array<std::int8_t, 8>, 256> places{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::int8_t next = 0;
    for (unsigned i = 0; i < 8; ++i) {
      places[mask][i] = (mask >> i & 1U) != 0 ? next++ : std::int8_t{-1};
    }
  }
  return places;
}();

[[gnu::target("avx2,popcnt")]] std::size_t spread_words_avx2(const std::uint8_t* mask,
                                                             const std::uint8_t* kept,
                                                             std::size_t count,
                                                             std::uint8_t* words) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < count; i += kSpreadGroup) {
    const std::uint8_t bits = mask[i / 8];
    const __m256i places = _mm256_cvtepi8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces[bits].data())));
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kept + 4 * taken));
    const __m256i spread = _mm256_andnot_si256(_mm256_srai_epi32(places, 31),
                                               _mm256_permutevar8x32_epi32(some, places));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + 4 * i), spread);
    taken += static_cast<std::size_t>(__builtin_popcount(bits));
  }
  return taken;
}

}  // namespace

bool has_vectors() {
  static const bool can = __builtin_cpu_supports("avx2") != 0;
  return can;
}

FieldsTaken take_fields(const std::uint8_t* bits, unsigned position, const std::uint8_t* widths,
                        std::size_t count, std::uint32_t* values) {
  return take_fields_avx2(bits, position, widths, count, values);
}

std::size_t spread_words(const std::uint8_t* mask, const std::uint8_t* kept, std::size_t count,
                         std::uint8_t* words) {
  return spread_words_avx2(mask, kept, count, words);
}

#else

bool has_vectors() { return false; }

FieldsTaken take_fields(const std::uint8_t*, unsigned, const std::uint8_t*, std::size_t,
                        std::uint32_t*) {
  return {};
}

std::size_t spread_words(const std::uint8_t*, const std::uint8_t*, std::size_t, std::uint8_t*) {
  return 0;
}

#endif

}  // namespace flor::store::kernels
