#include "remote/objects/sha256.h"

#include <flor/store/error.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace flor::remote {
namespace {

/// Looked up once, because for every lookup OpenSSL searches tables that all threads share.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (!found) throw Error("OpenSSL has no SHA-256");
  return found;
}

}  // namespace

Sha256 sha256(std::span<const std::byte> bytes) {
  Sha256 digest;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 nullptr, algorithm(), nullptr) != 1) {
    throw Error("OpenSSL has no SHA-256");
  }
  return digest;
}

std::string sha256_hex(std::span<const std::byte> bytes) { return hex(sha256(bytes)); }
std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

Sha256 hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  Sha256 digest;
  if (!HMAC(algorithm(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
            reinterpret_cast<unsigned char*>(digest.data()), nullptr)) {
    throw Error("OpenSSL has no HMAC with SHA-256");
  }
  return digest;
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte >> 4)];
    text += kDigits[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

std::string base64(std::span<const std::byte> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

}  // namespace flor::remote
