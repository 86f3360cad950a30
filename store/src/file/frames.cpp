#include "file/frames.h"

#include "base/little_endian.h"
#include "file/crc64.h"
#include "file/random.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace flor::store {
namespace {

constexpr std::string_view kFileMagic = "FLORFRMS";
constexpr std::uint32_t kFrameFormat = 2;
constexpr std::uint32_t kFrameMark = 0x454D5246;  // "FRME"
constexpr std::size_t kFrameAlignment = 8;
constexpr std::size_t kFrameWindowBytes = 256 * 1024;  // bytes per read

struct FrameHeader {
  std::uint16_t kind = 0;
  std::uint64_t number = 0;
  std::uint32_t length = 0;
  std::uint64_t payload_checksum = 0;
};

/// Puts the checksum of the other bytes into the last 8 bytes of `header`. `seed`: for a frame, the
/// id of its file, so that a frame of another file never passes as one of this file.
void seal(std::span<std::byte> header, std::uint64_t seed) {
  put(header.last(8), crc64(header.first(header.size() - 8), seed));
}

enum class Health { sound, mended, bad };

/// Compares `bytes` with their checksum. If a single bit of either was flipped, repairs it.
Health mend(std::span<std::byte> bytes, std::uint64_t checksum, std::uint64_t seed) {
  const std::uint64_t difference = crc64(bytes, seed) ^ checksum;
  if (difference == 0) return Health::sound;
  if (std::has_single_bit(difference)) return Health::mended;  // the flipped bit is in the checksum
  const auto bit = flipped_bit(bytes.size(), difference);
  if (!bit) return Health::bad;
  bytes[*bit / 8] ^= std::byte{1} << static_cast<int>(*bit % 8);
  return Health::mended;
}

Health mend_header(std::span<std::byte> header, std::uint64_t seed) {
  return mend(header.first(header.size() - 8), get<std::uint64_t>(header.last(8)), seed);
}

/// Decodes a header whose checksum is right; nullopt if no writer would write such values.
std::optional<FrameHeader> decode(std::span<const std::byte> bytes) {
  FrameHeader header;
  header.kind = get<std::uint16_t>(bytes.subspan(4));
  header.number = get<std::uint64_t>(bytes.subspan(8));
  header.length = get<std::uint32_t>(bytes.subspan(16));
  header.payload_checksum = get<std::uint64_t>(bytes.subspan(24));
  if (get<std::uint32_t>(bytes) != kFrameMark || header.length > kFrameBytesMax ||
      header.number >> 63 != 0) {
    return std::nullopt;
  }
  return header;
}

/// Reads parts of a file through a buffer. The file may grow meanwhile.
class Window {
 public:
  explicit Window(const File& file) : file_(&file) {}

  /// Returns `size` bytes from `offset`, or nullopt if the file ends before; valid until the next
  /// call.
  std::optional<std::span<std::byte>> at(std::uint64_t offset, std::size_t size) {
    if (offset < begin_ || offset + size > begin_ + used_) load(offset, size);
    if (offset + size > begin_ + used_) return std::nullopt;
    return std::span(bytes_).subspan(offset - begin_, size);
  }

  /// Discards the buffer, because a writer may have changed that part of the file.
  void forget() { used_ = 0; }

 private:
  void load(std::uint64_t offset, std::size_t size) {
    bytes_.resize(std::max(size, kFrameWindowBytes));
    begin_ = offset;
    used_ = file_->read_at(bytes_, offset);
  }

  const File* file_;
  std::vector<std::byte> bytes_;
  std::uint64_t begin_ = 0, used_ = 0;
};

}  // namespace

void append_file_header(std::vector<std::byte>& out, std::uint64_t id) {
  const std::size_t begin = out.size();
  out.resize(begin + kFileHeaderBytes);
  const auto header = std::span(out).subspan(begin);
  std::memcpy(header.data(), kFileMagic.data(), kFileMagic.size());
  put(header.subspan(8), kFrameFormat);
  put(header.subspan(12), std::uint32_t{kFileHeaderBytes});
  put(header.subspan(16), id);
  seal(header, 0);
}

void append_frame(std::vector<std::byte>& out, std::uint64_t id, std::uint64_t number,
                  std::uint16_t kind, std::span<const std::byte> payload) {
  const std::size_t begin = out.size();
  out.resize(begin + frame_bytes(payload.size()));
  const auto frame = std::span(out).subspan(begin);
  if (!payload.empty())
    std::memcpy(frame.data() + kFrameHeaderBytes, payload.data(), payload.size());
  const auto header = frame.first(kFrameHeaderBytes);
  put(header, kFrameMark);
  put(header.subspan(4), kind);
  put(header.subspan(8), number);
  put(header.subspan(16), static_cast<std::uint32_t>(payload.size()));
  put(header.subspan(24), crc64(frame.subspan(kFrameHeaderBytes)));
  seal(header, id);
}

FrameWriter::FrameWriter(Filesystem& filesystem, std::filesystem::path path)
    : file_(filesystem, std::move(path), O_RDWR | O_CREAT | O_EXCL, kInHome), id_(random_bits()) {
  append_file_header(pending_, id_);
}

std::uint64_t FrameWriter::append(std::uint16_t kind, std::span<const std::byte> payload) {
  if (payload.size() > kFrameBytesMax) {
    throw Error(
        fmt::format("a frame of {} bytes is more than {} takes", payload.size(), path().string()));
  }
  append_frame(pending_, id_, frames_, kind, payload);
  return frames_++;
}

void FrameWriter::flush() {
  if (lost_) {
    throw Error(fmt::format("{} is not written any more since the disk refused to keep it",
                            path().string()));
  }
  if (pending_.empty()) return;
  file_.write_at(pending_, flushed_);
  flushed_ += pending_.size();
  pending_.clear();
}

void FrameWriter::sync() {
  flush();
  if (synced_frames_ == frames_ && frames_ > 0) return;
  try {
    file_.sync_data();
  } catch (const Error&) {
    lost_ = true;
    throw;
  }
  synced_frames_ = frames_;
}

void FrameWriter::take_back(const Mark& mark) noexcept {
  if (mark.bytes >= flushed_) {
    pending_.resize(static_cast<std::size_t>(mark.bytes - flushed_));
  } else {
    pending_.clear();
    flushed_ = mark.bytes;
  }
  // A failed write may have left bytes beyond the flushed ones, which are cut off, too.
  if (frames_ != mark.frames && !file_.truncate(flushed_)) lost_ = uncut_ = true;
  frames_ = mark.frames;
  synced_frames_ = std::min(synced_frames_, frames_);
}

void FrameWriter::cut_off() {
  if (!uncut_) return;
  if (!file_.truncate(flushed_)) throw_system_error("cut off the end of", path(), errno);
  uncut_ = false;
}

FrameWriter::~FrameWriter() {
  if (uncut_) file_.truncate(flushed_);
}

struct FrameReader::Impl {
  Impl(const File& read, FrameSource from) : file(read), source(from), window(read) {}

  const File& file;
  FrameSource source;
  Window window;
  std::uint64_t id = 0;
  std::uint64_t position = 0, number = 0;
  std::vector<std::byte> payload;
  std::vector<FrameDamage> damage;

  void read_file_header();
  std::optional<FrameHeader> header_at(std::uint64_t offset, bool may_mend, bool& mended);
  std::optional<Frame> frame_at(std::uint64_t offset, bool may_mend);
  std::optional<Frame> next_sound();
  std::optional<Frame> next_untouched();
  Frame pass(const Frame& frame);
};

void FrameReader::Impl::read_file_header() {
  const auto bytes = window.at(0, kFileHeaderBytes);
  std::array<std::byte, kFileHeaderBytes> header{};
  if (bytes) std::ranges::copy(*bytes, header.begin());
  Health health = bytes ? mend_header(header, 0) : Health::bad;
  if (health == Health::mended && source == FrameSource::elsewhere) health = Health::bad;
  if (health == Health::bad ||
      std::memcmp(header.data(), kFileMagic.data(), kFileMagic.size()) != 0) {
    throw Damaged(fmt::format("{} does not start with Flor's file header: run `flor fsck`",
                              file.path().string()));
  }
  if (const auto format = get<std::uint32_t>(std::span(header).subspan(8));
      format != kFrameFormat) {
    throw NewerFormat(fmt::format("{} has format {}, this Flor reads {}: update Flor",
                                  file.path().string(), format, kFrameFormat));
  }
  if (health == Health::mended) {
    damage.push_back(
        {.offset = 0, .bytes = kFileHeaderBytes, .first = 0, .lost = 0, .undone = true});
  }
  id = get<std::uint64_t>(std::span(header).subspan(16));
  position = get<std::uint32_t>(std::span(header).subspan(12));
}

std::optional<FrameHeader> FrameReader::Impl::header_at(std::uint64_t offset, bool may_mend,
                                                        bool& mended) {
  const auto bytes = window.at(offset, kFrameHeaderBytes);
  if (!bytes) return std::nullopt;
  // Repairs a copy of the header, not the buffer: what looks like damage may be a frame that
  // another process is writing at this moment.
  std::array<std::byte, kFrameHeaderBytes> header{};
  std::ranges::copy(*bytes, header.begin());
  if (!may_mend) {
    // While searching, most places have no header, and the mark shows that without computing a CRC.
    if (get<std::uint32_t>(header) != kFrameMark) return std::nullopt;
    const auto rest = std::span<const std::byte>(header);
    if (crc64(rest.first(kFrameHeaderBytes - 8), id) != get<std::uint64_t>(rest.last(8)))
      return std::nullopt;
    return decode(header);
  }
  const Health health = mend_header(header, id);
  if (health == Health::bad) return std::nullopt;
  mended = health == Health::mended;
  return decode(header);
}

/// Returns the frame whose header is at `offset`, if it is sound, or can be repaired and
/// `may_mend`.
std::optional<Frame> FrameReader::Impl::frame_at(std::uint64_t offset, bool may_mend) {
  bool mended = false;
  const auto header = header_at(offset, may_mend, mended);
  if (!header) return std::nullopt;
  const auto body = static_cast<std::size_t>(frame_bytes(header->length) - kFrameHeaderBytes);
  const auto bytes = window.at(offset + kFrameHeaderBytes, body);
  if (!bytes) return std::nullopt;
  payload.assign(bytes->begin(), bytes->end());
  if (may_mend) {
    const Health health = mend(payload, header->payload_checksum, 0);
    if (health == Health::bad) return std::nullopt;
    mended = mended || health == Health::mended;
  } else if (crc64(payload) != header->payload_checksum) {
    return std::nullopt;
  }
  if (mended) {
    damage.push_back({.offset = offset,
                      .bytes = frame_bytes(header->length),
                      .first = header->number,
                      .lost = 0,
                      .undone = true});
  }
  return Frame{header->kind, header->number, offset, std::span(payload).first(header->length)};
}

/// Returns the first sound frame from `position` on whose number was not read yet.
std::optional<Frame> FrameReader::Impl::next_sound() {
  for (std::uint64_t offset = position; window.at(offset, kFrameHeaderBytes);
       offset += kFrameAlignment) {
    bool mended = false;
    const auto header = header_at(offset, false, mended);
    if (!header || header->number < number) continue;
    if (auto frame = frame_at(offset, false)) return frame;
  }
  return std::nullopt;
}

/// Returns the next sound frame of a file in which nothing may be repaired.
std::optional<Frame> FrameReader::Impl::next_untouched() {
  if (const auto frame = frame_at(position, false); frame && frame->number == number)
    return pass(*frame);
  if (!window.at(position, 1)) return std::nullopt;
  throw Damaged(fmt::format("{} is not as it was written from byte {} on: get it again",
                            file.path().string(), position));
}

/// Sets the position to the end of the frame, and records what was lost before it.
Frame FrameReader::Impl::pass(const Frame& frame) {
  if (frame.offset != position || frame.number != number) {
    const FrameDamage lost{.offset = position,
                           .bytes = frame.offset - position,
                           .first = number,
                           .lost = frame.number - number};
    // If the frame was repaired, its own damage was recorded already and must come last.
    const bool own =
        !damage.empty() && damage.back().offset == frame.offset && damage.back().undone;
    damage.insert(damage.end() - (own ? 1 : 0), lost);
  }
  position = frame.offset + frame_bytes(frame.payload.size());
  number = frame.number + 1;
  return frame;
}

FrameReader::FrameReader(const File& file, FrameSource source)
    : impl_(std::make_unique<Impl>(file, source)) {
  impl_->read_file_header();
}
FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

std::optional<Frame> FrameReader::next() {
  Impl& impl = *impl_;
  if (impl.source == FrameSource::elsewhere) return impl.next_untouched();
  if (auto frame = impl.frame_at(impl.position, true); frame && frame->number >= impl.number) {
    return impl.pass(*frame);
  }
  impl.window.forget();
  auto found = impl.next_sound();
  if (!found) return std::nullopt;
  if (found->offset != impl.position) {
    // During the search a writer may have completed the frame at `position`, which then comes
    // first.
    const std::uint64_t later = found->offset;
    impl.window.forget();
    found = impl.frame_at(impl.position, false);
    if (!found || found->number < impl.number) found = impl.frame_at(later, false);
    if (!found) return std::nullopt;
  }
  return impl.pass(*found);
}

void FrameReader::go_on_at(std::uint64_t position, std::uint64_t number) {
  impl_->position = position;
  impl_->number = number;
}

std::vector<FrameDamage> FrameReader::take_damage() { return std::exchange(impl_->damage, {}); }
std::uint64_t FrameReader::id() const { return impl_->id; }
std::uint64_t FrameReader::position() const { return impl_->position; }
std::uint64_t FrameReader::number() const { return impl_->number; }

}  // namespace flor::store
