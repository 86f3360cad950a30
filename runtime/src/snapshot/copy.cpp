#include "snapshot/copy.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flor::detail {
#if defined(__x86_64__)
namespace {

constexpr std::size_t kBlock = 256;
/// Smaller copies go through the cache, where the destination probably is already.
constexpr std::size_t kWorthIt = std::size_t{256} << 10;

__attribute__((target("avx512f"))) void stream_wide(std::byte* to, const std::byte* from,
                                                    std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kBlock) {
    const __m512i a = _mm512_loadu_si512(from + at);
    const __m512i b = _mm512_loadu_si512(from + at + 64);
    const __m512i c = _mm512_loadu_si512(from + at + 128);
    const __m512i d = _mm512_loadu_si512(from + at + 192);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), a);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 64), b);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 128), c);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at + 192), d);
  }
}

void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  const auto load = [from](std::size_t at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
  };
  const auto store = [to](std::size_t at, __m128i value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), value);
  };
  for (std::size_t at = 0; at < bytes; at += 64) {
    const __m128i a = load(at), b = load(at + 16), c = load(at + 32), d = load(at + 48);
    store(at, a);
    store(at + 16, b);
    store(at + 32, c);
    store(at + 48, d);
  }
}

}  // namespace

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  static const bool wide = __builtin_cpu_supports("avx512f") != 0;
  std::size_t blocks = 0;
  if (bytes >= kWorthIt) {
    blocks = bytes / kBlock * kBlock;
    wide ? stream_wide(to, from, blocks) : stream(to, from, blocks);
    _mm_sfence();  // orders these stores before the one that passes the copy on
  }
  std::memcpy(to + blocks, from + blocks, bytes - blocks);
}

#else

void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif
}  // namespace flor::detail
