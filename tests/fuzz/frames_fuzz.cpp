// Fuzz target of framed files. Input: a byte of flags, then the file.
//   bit 0: the checksums of all headers are made right, so that what they protect is looked at.
//   bit 1: the file comes from elsewhere.
#include "base/little_endian.h"
#include "file/crc64.h"
#include "file/frames.h"
#include "support/one_file.h"

#include <flor/store/error.h>

#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

namespace flor::fuzz::frames_target {
namespace {

using namespace flor::store;

void require(bool condition) {
  if (!condition) std::abort();
}

/// As a writer would have left it, had it written these fields.
void seal_all(std::vector<std::byte>& content) {
  if (content.size() < kFileHeaderBytes) return;
  const auto seal = [](std::span<std::byte> header, std::uint64_t seed) {
    put(header.last(8), crc64(header.first(header.size() - 8), seed));
  };
  const std::span<std::byte> bytes(content);
  std::memcpy(content.data(), "FLORFRMS", 8);
  put(bytes.subspan(8), std::uint32_t{2});
  put(bytes.subspan(12), std::uint32_t{kFileHeaderBytes});
  seal(bytes.first(kFileHeaderBytes), 0);
  const auto id = get<std::uint64_t>(bytes.subspan(16));
  for (std::uint64_t at = kFileHeaderBytes; at + kFrameHeaderBytes <= content.size();) {
    const auto header = bytes.subspan(at, kFrameHeaderBytes);
    std::memcpy(header.data(), "FRME", 4);
    const std::uint64_t whole = frame_bytes(get<std::uint32_t>(header.subspan(16)));
    if (at + whole <= content.size()) {
      put(header.subspan(24),
          crc64(bytes.subspan(at + kFrameHeaderBytes, whole - kFrameHeaderBytes)));
    }
    seal(header, id);
    at += whole;
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> content(bytes + 1, bytes + size);
  if (data[0] & 1) seal_all(content);
  OneFile disk(content);
  const File file(disk, "journal", O_RDONLY);
  const auto source = (data[0] & 2) != 0 ? FrameSource::elsewhere : FrameSource::home;
  try {
    FrameReader reader(file, source);
    std::uint64_t end = kFileHeaderBytes, number = 0;
    while (const auto frame = reader.next()) {
      require(frame->offset >= end && frame->number >= number);  // in order, and each once
      require(source == FrameSource::home || (frame->offset == end && frame->number == number));
      end = frame->offset + frame_bytes(frame->payload.size());
      number = frame->number + 1;
      require(end <= content.size() && reader.position() == end && reader.number() == number);
    }
    std::uint64_t lost = 0;
    for (const FrameDamage& damage : reader.take_damage()) {
      require(!damage.undone || damage.lost == 0);
      lost += damage.lost;
    }
    require(lost <= number);
  } catch (const flor::Error&) {
  }
  return 0;
}

}  // namespace flor::fuzz::frames_target
