// Encodes pixels as a PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace flor::cli {

/// Encodes `pixels`, 8 bits each, in the order [height, width, channels], with 1 channel (grey), 3
/// (red, green, blue) or 4 (with opacity). Throws Error for another number of channels, for an
/// empty image, and if the sizes do not match.
std::string encoded_png(std::span<const std::byte> pixels, std::int64_t height, std::int64_t width,
                        std::int64_t channels);

}  // namespace flor::cli
