// The checksums of TFRecord files.
#pragma once

#include <cstdint>
#include <string_view>

namespace flor::cli {

/// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

/// The form in which TFRecord stores a checksum: rotated, with a number added.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace flor::cli
