// Determines from the format of a file whether it is complete.
#include "watch/evaluators/complete_files.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace flor::cli {
namespace {

/// Reads `count` bytes; returns none if the file is shorter.
std::vector<std::byte> read_at(int descriptor, std::uint64_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t done = 0; done < count;) {
    const ssize_t got =
        ::pread(descriptor, bytes.data() + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

template <typename Integer>
Integer little(std::span<const std::byte> bytes, std::size_t offset) {
  Integer value = 0;
  for (std::size_t i = sizeof(Integer); i-- > 0;) {
    value = static_cast<Integer>(value << 8 | std::to_integer<Integer>(bytes[offset + i]));
  }
  return value;
}

// zip: a local header and the content of each entry, the central directory, its end record.
// Programs write a zip file from front to back, or at least write the end record last.

constexpr std::uint32_t kLocal = 0x04034B50, kEntry = 0x02014B50, kEnd = 0x06054B50;
constexpr std::uint32_t kEnd64 = 0x06064B50, kLocator64 = 0x07064B50;
constexpr std::size_t kEntryBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr std::uint64_t kDirectoryLimit = 1 << 28;  // bytes, enough for millions of entries

struct Directory {
  std::uint64_t offset = 0, bytes = 0;
};

std::optional<Directory> zip64_directory(int descriptor, std::uint64_t end) {
  if (end < kLocatorBytes + kEnd64Bytes) return std::nullopt;
  const auto locator = read_at(descriptor, end - kLocatorBytes, kLocatorBytes);
  if (locator.empty() || little<std::uint32_t>(locator, 0) != kLocator64) return std::nullopt;
  const auto at = little<std::uint64_t>(locator, 8);
  if (at > end - kLocatorBytes - kEnd64Bytes) return std::nullopt;
  const auto record = read_at(descriptor, at, kEnd64Bytes);
  if (record.empty() || little<std::uint32_t>(record, 0) != kEnd64) return std::nullopt;
  return Directory{little<std::uint64_t>(record, 48), little<std::uint64_t>(record, 40)};
}

/// Finds the central directory by the end record in the last bytes of the file.
std::optional<Directory> find_directory(int descriptor, std::uint64_t bytes) {
  constexpr std::uint64_t kLongest = kEndBytes + 0xFFFF;
  const std::uint64_t tail_bytes = std::min(bytes, kLongest);
  const auto tail = read_at(descriptor, bytes - tail_bytes, tail_bytes);
  if (tail.size() < kEndBytes) return std::nullopt;
  for (std::size_t at = tail.size() - kEndBytes + 1; at-- > 0;) {
    if (little<std::uint32_t>(tail, at) != kEnd) continue;
    const auto comment = little<std::uint16_t>(tail, at + 20);
    if (at + kEndBytes + comment != tail.size()) continue;
    const std::uint64_t end = bytes - tail_bytes + at;
    Directory found{little<std::uint32_t>(tail, at + 16), little<std::uint32_t>(tail, at + 12)};
    if (const auto large = zip64_directory(descriptor, end)) found = *large;
    if (found.offset <= end && found.bytes <= end - found.offset) return found;
  }
  return std::nullopt;
}

/// The offset of an entry whose 32-bit field is saturated: the last 8 bytes of its zip64 field.
std::optional<std::uint64_t> large_offset(std::span<const std::byte> extra) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto id = little<std::uint16_t>(extra, at);
    const auto size = little<std::uint16_t>(extra, at + 2);
    if (at + 4 + size > extra.size()) break;
    // In the field, lengths come before the offset if they are there, and a disk number may follow.
    if (id == 1) {
      const std::size_t after = size % 8 == 0 ? 8 : 12;
      if (size < after || (size - after) % 8 != 0) break;
      return little<std::uint64_t>(extra, at + 4 + size - after);
    }
    at += 4u + size;
  }
  return std::nullopt;
}

Wholeness examine_zip(int descriptor, std::uint64_t bytes) {
  const auto directory = find_directory(descriptor, bytes);
  if (!directory || directory->bytes > kDirectoryLimit) return Wholeness::partial;
  const auto entries = read_at(descriptor, directory->offset, directory->bytes);
  if (entries.size() != directory->bytes) return Wholeness::partial;
  for (std::size_t at = 0; at < entries.size();) {
    if (at + kEntryBytes > entries.size() || little<std::uint32_t>(entries, at) != kEntry) {
      return Wholeness::partial;
    }
    const std::size_t name = little<std::uint16_t>(entries, at + 28);
    const std::size_t extra = little<std::uint16_t>(entries, at + 30);
    const std::size_t comment = little<std::uint16_t>(entries, at + 32);
    if (at + kEntryBytes + name + extra + comment > entries.size()) return Wholeness::partial;
    std::uint64_t offset = little<std::uint32_t>(entries, at + 42);
    if (offset == 0xFFFFFFFF) {
      const auto large = large_offset(std::span(entries).subspan(at + kEntryBytes + name, extra));
      if (!large) return Wholeness::partial;
      offset = *large;
    }
    const auto local = read_at(descriptor, offset, 4);
    if (local.empty() || little<std::uint32_t>(local, 0) != kLocal) return Wholeness::partial;
    at += kEntryBytes + name + extra + comment;
  }
  return Wholeness::whole;
}

/// Whether the file may be a zip file: also true for fewer than 4 bytes that fit, since more may
/// come.
bool is_zip(std::span<const std::byte> head, const std::string&) {
  constexpr std::array<std::byte, 4> kMagic{std::byte{'P'}, std::byte{'K'}, std::byte{3},
                                            std::byte{4}};
  return std::ranges::equal(head.first(std::min(head.size(), kMagic.size())),
                            std::span(kMagic).first(std::min(head.size(), kMagic.size())));
}

// safetensors: u64 length of the header, the header (JSON), the tensors without gaps.

constexpr std::uint64_t kHeaderLimit = 100'000'000;  // bytes; the limit that the format sets

/// The number of bytes that the tensors take; nullopt if the JSON is no safetensors header.
std::optional<std::uint64_t> data_bytes(const nlohmann::json& header) {
  if (!header.is_object()) return std::nullopt;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const nlohmann::json& last = tensor.at("data_offsets").at(1);
    if (!last.is_number_unsigned()) return std::nullopt;
    end = std::max(end, last.get<std::uint64_t>());
  }
  return end;
}

Wholeness examine_safetensors(int descriptor, std::uint64_t bytes) {
  const auto prefix = read_at(descriptor, 0, 8);
  if (prefix.empty()) return Wholeness::partial;
  const auto length = little<std::uint64_t>(prefix, 0);
  if (length > kHeaderLimit || length > bytes - 8) return Wholeness::partial;
  const auto text = read_at(descriptor, 8, length);
  if (text.size() != length) return Wholeness::partial;
  try {
    const auto* begin = reinterpret_cast<const char*>(text.data());
    const auto header = nlohmann::json::parse(begin, begin + text.size());
    const std::uint64_t left = bytes - 8 - length;
    return data_bytes(header) == left ? Wholeness::whole : Wholeness::partial;
  } catch (const nlohmann::json::exception&) {
    return Wholeness::partial;
  }
}

bool is_safetensors(std::span<const std::byte>, const std::string& extension) {
  return extension == ".safetensors";
}

constexpr FileForm kFileForms[] = {
    {"safetensors", is_safetensors, examine_safetensors},
    {"zip", is_zip, examine_zip},
};

}  // namespace

std::span<const FileForm> file_forms() { return kFileForms; }

bool is_complete(const Observation& observation, std::chrono::nanoseconds settle) {
  if (observation.being_written || observation.form == Wholeness::partial) return false;
  return observation.form == Wholeness::whole || observation.published ||
         observation.unchanged >= settle;
}

}  // namespace flor::cli
