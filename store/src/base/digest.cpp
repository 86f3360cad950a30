#include "base/digest_stream.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <vector>

namespace flor::store {
namespace {

Digest canonical(XXH128_hash_t hash) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Digest digest;
  static_assert(sizeof(bytes) == sizeof(digest.bytes));
  std::memcpy(digest.bytes.data(), &bytes, sizeof(bytes));
  return digest;
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Digest> Digest::from_hex(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

Digest digest_of(std::span<const std::byte> bytes) {
  return canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

DigestStream::DigestStream() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  restart();
}
DigestStream::~DigestStream() { XXH3_freeState(state_); }
void DigestStream::restart() { XXH3_128bits_reset(state_); }
void DigestStream::add(std::span<const std::byte> piece) {
  XXH3_128bits_update(state_, piece.data(), piece.size());
}
Digest DigestStream::digest() const { return canonical(XXH3_128bits_digest(state_)); }

Digest item_digest(std::span<const std::byte> content) {
  if (content.size() <= kChunkBytes) return digest_of(content);
  std::vector<Digest> chunks;
  chunks.reserve((content.size() + kChunkBytes - 1) / kChunkBytes);
  for (std::size_t at = 0; at < content.size(); at += kChunkBytes) {
    chunks.push_back(digest_of(content.subspan(at, std::min(kChunkBytes, content.size() - at))));
  }
  return item_digest(chunks);
}

Digest item_digest(std::span<const Digest> chunks) {
  static_assert(sizeof(Digest) == 16, "digests in a row are their concatenation");
  if (chunks.size() == 1) return chunks.front();
  return digest_of(std::as_bytes(chunks));
}

std::string file_digest(const std::filesystem::path& path) {
  std::error_code error;
  // Other files, such as a pipe or a device, may have no end.
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream in(path, std::ios::binary);
  if (!in) return {};
  std::vector<char> chunk(kChunkBytes);
  std::vector<Digest> digests;
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    if (count > 0) digests.push_back(digest_of(std::as_bytes(std::span(chunk).first(count))));
  }
  return item_digest(digests).hex();
}

}  // namespace flor::store

std::size_t std::hash<flor::store::Digest>::operator()(
    const flor::store::Digest& digest) const noexcept {
  std::size_t value = 0;
  std::memcpy(&value, digest.bytes.data(), sizeof(value));
  return value;
}
