// Fuzz target of the headers of packs and of the walk through a pack that repair makes. Input: a
// byte of flags, a byte that thins out the offsets the walk is given, then the pack.
//   bit 0: the checksums of the headers are made right, so that what they protect is looked at.
#include "base/little_endian.h"
#include "file/filesystem.h"
#include "pack/pack_record.h"
#include "pack/pack_scan.h"
#include "support/one_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace flor::fuzz::pack_target {
namespace {

using namespace flor::store;

void require(bool condition) {
  if (!condition) std::abort();
}

void seal(std::span<std::byte> header) {
  put(header.last(8), checksum(header.first(header.size() - 8)));
}

/// As a writer would have left it, had it written these fields.
void seal_all(std::vector<std::byte>& pack) {
  if (pack.size() < kPackHeaderBytes) return;
  std::memcpy(pack.data(), "FLORPACK", 8);
  seal(std::span(pack).first<kPackHeaderBytes>());
  for (std::size_t at = kPackHeaderBytes; at + kRecordHeaderBytes <= pack.size();) {
    const auto header = std::span(pack).subspan(at, kRecordHeaderBytes);
    std::memcpy(header.data(), "FREC", 4);
    seal(header);
    at += kRecordHeaderBytes + std::size_t{get<std::uint32_t>(header.subspan(12))};
  }
}

template <std::size_t Size>
void decode_headers(std::span<const std::byte> bytes) {
  if (bytes.size() < Size) return;
  const auto header = bytes.template first<Size>();
  if constexpr (Size == kPackHeaderBytes) {
    decode_pack_header(header);
  } else if (const auto record = decode_record_header(header)) {
    // What was understood says the same when it is written again.
    const auto again = encode_header(*record);
    require(decode_record_header(again) == record);
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> pack(bytes + 2, bytes + size);
  if (data[0] & 1) seal_all(pack);
  decode_headers<kPackHeaderBytes>(pack);
  if (pack.size() > kPackHeaderBytes) {
    decode_headers<kRecordHeaderBytes>(std::span(pack).subspan(kPackHeaderBytes));
  }
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t at = 0; at < pack.size(); at += 1 + data[1]) offsets.push_back(at);

  OneFile disk(pack);
  const File file(disk, "pack", O_RDONLY);
  PackScan scan;
  scan.add(file, 1, PackOrigin::here, pack.size(), offsets);
  std::uint64_t end = kPackHeaderBytes;
  for (const auto& [place, header] : scan.records()) {
    require(place.second >= end);  // records do not overlap
    end = place.second + kRecordHeaderBytes + header.stored_bytes;
    require(end <= pack.size());
    bool found = false;
    for (const FoundRecord& record : scan.find(header.digest)) {
      found = found || record.offset == place.second;
    }
    require(found);
  }
  return 0;
}

}  // namespace flor::fuzz::pack_target
