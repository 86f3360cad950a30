#include "export/png_image.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <zlib.h>

#include <string_view>

namespace flor::cli {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string chunk(std::string_view type, std::string_view content) {
  std::string named(type);
  named += content;
  const auto crc =
      ::crc32(0, reinterpret_cast<const Bytef*>(named.data()), static_cast<uInt>(named.size()));
  return big_endian(static_cast<std::uint32_t>(content.size())) + named +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// Filters each row as differences to the row above (PNG filter 2), with which pictures compress
/// well.
std::string filtered(std::span<const std::byte> pixels, std::size_t rows, std::size_t row_bytes) {
  std::string result;
  result.reserve(rows * (row_bytes + 1));
  for (std::size_t row = 0; row < rows; ++row) {
    result += '\x02';
    for (std::size_t i = 0; i < row_bytes; ++i) {
      const auto here = std::to_integer<unsigned>(pixels[row * row_bytes + i]);
      const auto above = row ? std::to_integer<unsigned>(pixels[(row - 1) * row_bytes + i]) : 0;
      result += static_cast<char>(here - above);
    }
  }
  return result;
}

std::string deflated(const std::string& content) {
  uLongf size = ::compressBound(content.size());
  std::string result(size, '\0');
  const int status = ::compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                                 reinterpret_cast<const Bytef*>(content.data()), content.size(),
                                 Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) throw Error("an image could not be compressed: there is no memory for it");
  result.resize(size);
  return result;
}

}  // namespace

std::string encoded_png(std::span<const std::byte> pixels, std::int64_t height, std::int64_t width,
                        std::int64_t channels) {
  constexpr std::int64_t kLargest = 1 << 15;
  const char color = channels == 1 ? 0 : channels == 3 ? 2 : channels == 4 ? 6 : -1;
  const bool fits = height > 0 && width > 0 && height <= kLargest && width <= kLargest &&
                    pixels.size() == static_cast<std::size_t>(height * width * channels);
  if (color < 0 || !fits) {
    throw Error(fmt::format("{} bytes are no image of {} x {} pixels with {} channels",
                            pixels.size(), width, height, channels));
  }
  std::string header = big_endian(static_cast<std::uint32_t>(width)) +
                       big_endian(static_cast<std::uint32_t>(height));
  header += {'\x08', color, '\0', '\0', '\0'};  // bits; compression, filters, no interlacing
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) +
         chunk("IDAT", deflated(filtered(pixels, static_cast<std::size_t>(height),
                                         static_cast<std::size_t>(width * channels)))) +
         chunk("IEND", "");
}

}  // namespace flor::cli
