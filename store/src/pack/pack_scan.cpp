#include "pack/pack_scan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace flor::store {
namespace {

/// Returns the end of the zeros that begin at `at`: `flor gc` turns unneeded records into holes.
std::uint64_t end_of_zeros(const File& file, std::uint64_t at, std::uint64_t bytes) {
  std::array<std::byte, 1U << 16> buffer;
  while (at < bytes) {
    const auto count = file.read_at(std::span(buffer).first(static_cast<std::size_t>(
                                        std::min<std::uint64_t>(buffer.size(), bytes - at))),
                                    at);
    if (count == 0) break;
    const auto read = std::span(buffer).first(static_cast<std::size_t>(count));
    const auto found =
        std::ranges::find_if(read, [](std::byte byte) { return byte != std::byte{0}; });
    at += static_cast<std::uint64_t>(found - read.begin());
    if (found != read.end()) break;
  }
  return at;
}

/// Returns the offset of the next sound header from `at` on; nullopt if there is none. Records may
/// lie at any offset, so this is slow, and used only after damage.
std::optional<std::uint64_t> find_header(const File& file, std::uint64_t at, std::uint64_t bytes) {
  std::vector<std::byte> window(std::size_t{1} << 20);
  while (at + kRecordHeaderBytes <= bytes) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), bytes - at));
    const auto count = file.read_at(std::span(window).first(wanted), at);
    if (count < kRecordHeaderBytes) break;
    for (std::size_t i = 0; i + kRecordHeaderBytes <= count; ++i) {
      const auto header = decode_record_header(
          std::span<const std::byte>(window).subspan(i).first<kRecordHeaderBytes>());
      if (header && at + i + kRecordHeaderBytes + header->stored_bytes <= bytes) return at + i;
    }
    at += count - kRecordHeaderBytes + 1;
  }
  return std::nullopt;
}

}  // namespace

void PackScan::add(const File& file, std::int64_t pack, PackOrigin origin, std::uint64_t bytes,
                   const std::vector<std::uint64_t>& offsets, std::uint64_t from) {
  origins_[pack] = origin;
  std::uint64_t at = from;
  while (at + kRecordHeaderBytes <= bytes) {
    std::array<std::byte, kRecordHeaderBytes> buffer{};
    if (file.read_at(buffer, at) != buffer.size()) return;
    const auto header = decode_record_header(buffer);
    if (header && at + kRecordHeaderBytes + header->stored_bytes <= bytes) {
      if (records_.emplace(std::pair(pack, at), *header).second)
        by_digest_.emplace(header->digest, std::pair(pack, at));
      at += kRecordHeaderBytes + header->stored_bytes;
      continue;
    }
    if (const std::uint64_t end = end_of_zeros(file, at, bytes); end > at) {
      at = end;
      continue;
    }
    const auto known = std::ranges::upper_bound(offsets, at);
    const auto next =
        known != offsets.end() ? std::optional(*known) : find_header(file, at + 1, bytes);
    if (!next) return;
    at = *next;
  }
}

std::vector<FoundRecord> PackScan::find(const Digest& digest) const {
  std::vector<FoundRecord> found;
  const auto [first, last] = by_digest_.equal_range(digest);
  for (auto place = first; place != last; ++place) {
    const auto [pack, offset] = place->second;
    found.push_back({pack, offset, records_.at(place->second), origins_.at(pack)});
  }
  return found;
}

ChunkRow row_of(const FoundRecord& record, std::uint32_t id, std::uint32_t base) {
  const RecordHeader& header = record.header;
  return {.id = id,
          .digest = header.digest,
          .pack = record.pack,
          .offset = record.offset,
          .raw_bytes = header.raw_bytes,
          .stored_bytes = header.stored_bytes,
          .codec = header.codec,
          .type = header.type,
          .depth = header.depth,
          .base = base};
}

}  // namespace flor::store
