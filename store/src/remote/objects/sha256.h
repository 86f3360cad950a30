// SHA-256, which names objects and lets servers verify what they receive.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace flor::remote {

using Sha256 = std::array<std::byte, 32>;

Sha256 sha256(std::span<const std::byte> bytes);
/// Returns 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
Sha256 hmac_sha256(std::span<const std::byte> key, std::string_view text);
std::string hex(std::span<const std::byte> bytes);
std::string base64(std::span<const std::byte> bytes);

}  // namespace flor::remote
