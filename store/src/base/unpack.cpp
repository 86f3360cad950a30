#include "base/unpack.h"

#include <zstd.h>

#include <memory>
#include <new>
#include <vector>

namespace flor::store {
namespace {

/// Limit of the window, thus of the memory, for decompression; zstd's level 3 needs less.
constexpr int kWindowBits = 23;

}  // namespace

std::string_view unpack(std::span<const std::byte> packed,
                        const std::function<void(std::span<const std::byte>)>& sink) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowBits);
  std::vector<std::byte> piece(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::uint64_t bytes = 0;
  for (std::size_t left = 1; left != 0;) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) return "cannot be unpacked";
    if (out.pos == 0 && left != 0 && in.pos == in.size) return "is cut off";
    bytes += out.pos;
    if (bytes > unpacked_bytes_max(packed.size())) return "is larger than it can be";
    sink(std::span(piece).first(out.pos));
  }
  return in.pos == in.size ? std::string_view() : "has bytes after its end";
}

}  // namespace flor::store
