// Pixels as a PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace flor::cli {

/// `pixels`: 8 bits, [height, width, channels], of 1 (grey), 3 (red, green, blue) or 4 channels
/// (with opacity). Throws Error for others, for no pixels, and where the sizes do not fit.
std::string encoded_png(std::span<const std::byte> pixels, std::int64_t height, std::int64_t width,
                        std::int64_t channels);

}  // namespace flor::cli
