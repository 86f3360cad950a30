// Encodes pixels as a PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace flor::cli {

/// `pixels`: 8 bits, [height, width, channels], with 1 channel (grey), 3 (red, green, blue) or 4
/// (with opacity). Throws Error for other numbers, for no pixels, and if the sizes do not fit.
std::string encoded_png(std::span<const std::byte> pixels, std::int64_t height, std::int64_t width,
                        std::int64_t channels);

}  // namespace flor::cli
