#include "journal/journal_copy.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

/// A batch is written when it has this size. If the disk refuses, at most kWaitingMax bytes wait.
constexpr std::size_t kBatchBytes = std::size_t{64} << 10, kWaitingMax = std::size_t{1} << 20;
constexpr std::chrono::seconds kCopyPause{5};

bool is_absent(const fs::path& path) {
  std::error_code error;
  return !fs::exists(path, error) && !error;
}

/// True if a power loss destroyed the copy before any of it was durable.
bool is_empty(const File& file) {
  std::array<std::byte, kFileHeaderBytes> header{};
  file.read_at(header, 0);
  return std::ranges::all_of(header, [](std::byte byte) { return byte == std::byte{0}; });
}

/// True if the damaged bytes include a sector of zeros. A power loss may lose any sectors that were
/// not synced, and leaves zeros in their place, which is not reported as damage.
bool has_hole(const File& file, const FrameDamage& damage) {
  constexpr std::uint64_t kSector = 512;
  std::vector<std::byte> bytes(static_cast<std::size_t>(damage.bytes));
  bytes.resize(file.read_at(bytes, damage.offset));
  const std::uint64_t end = damage.offset + bytes.size();
  for (std::uint64_t begin = damage.offset; begin < end;) {
    const std::uint64_t next = (begin / kSector + 1) * kSector;
    if (next > end) break;
    const auto sector = std::span(bytes).subspan(static_cast<std::size_t>(begin - damage.offset),
                                                 static_cast<std::size_t>(next - begin));
    if (std::ranges::all_of(sector, [](std::byte byte) { return byte == std::byte{0}; }))
      return true;
    begin = next;
  }
  return false;
}

/// Returns the id of a framed file; nullopt if it cannot be read.
std::optional<std::uint64_t> id_of(Filesystem& filesystem, const fs::path& framed) {
  try {
    const File file(filesystem, framed, O_RDONLY);
    return FrameReader(file).id();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

fs::path copy_path(const fs::path& journal) { return journal.string() + ".copy"; }

CopyWriter::CopyWriter(Filesystem& filesystem, fs::path path, std::uint64_t id)
    : filesystem_(filesystem), path_(std::move(path)), id_(id), process_(::getpid()) {
  append_file_header(waiting_, id);
  kept_ = waiting_.size();
}

CopyWriter::~CopyWriter() {
  if (process_ != ::getpid()) return;
  take_back();
  try {
    write();
  } catch (const std::exception&) {
    // The journal itself still has the frames.
  }
}

void CopyWriter::append(std::uint64_t number, std::uint16_t kind,
                        std::span<const std::byte> payload) {
  append_frame(waiting_, id_, number, kind, payload);
}

void CopyWriter::write() {
  if (waiting_.size() == header_bytes()) return;
  // Opened for each write instead of held open, because a command may write journals of thousands
  // of runs.
  File file(filesystem_, path_, O_WRONLY | O_CREAT, kInHome);
  // Syncs what was written earlier. Otherwise a power loss could lose it but keep what is written
  // below, and the resulting hole would look like damage.
  if (written_ > 0) file.sync_data();
  file.write_at(waiting_, written_);
  written_ += waiting_.size();
  written_at_ = std::chrono::steady_clock::now();
  waiting_.clear();
  kept_ = 0;
}

void CopyWriter::keep() noexcept {
  kept_ = waiting_.size();
  const bool is_due = written_ == 0 || kept_ >= kBatchBytes ||
                      std::chrono::steady_clock::now() - written_at_ >= kCopyPause;
  if (!is_due) return;
  try {
    write();
  } catch (const std::exception&) {
    if (kept_ > kWaitingMax) waiting_.resize(header_bytes());
    kept_ = waiting_.size();
  }
}

void CopyWriter::remove() noexcept {
  std::error_code error;
  if (written_ > 0) fs::remove(path_, error);
  process_ = 0;
}

std::vector<CopiedFrame> copied_frames(Filesystem& filesystem, const fs::path& journal,
                                       std::optional<std::uint64_t> id, std::uint64_t first,
                                       std::uint64_t end) {
  std::vector<CopiedFrame> frames;
  const fs::path path = copy_path(journal);
  if (is_absent(path)) return frames;
  try {
    const File file(filesystem, path, O_RDONLY);
    FrameReader reader(file);
    if (id && reader.id() != *id) return frames;
    while (const auto frame = reader.next()) {
      if (frame->number >= end) break;
      if (frame->number < first) continue;
      frames.push_back(
          {frame->number, frame->kind, {frame->payload.begin(), frame->payload.end()}});
    }
  } catch (const Error&) {
    // `flor fsck` reports the damage.
  }
  return frames;
}

std::vector<std::string> damage_of_copy(Filesystem& filesystem, const fs::path& journal) {
  std::vector<std::string> lines;
  const fs::path path = copy_path(journal);
  if (is_absent(path)) return lines;
  try {
    const File file(filesystem, path, O_RDONLY);
    if (is_empty(file)) return lines;
    FrameReader reader(file);
    if (const auto id = id_of(filesystem, journal); id && *id != reader.id()) {
      lines.push_back(
          fmt::format("{} is the copy of an older journal: `flor fsck --repair` makes it again",
                      path.string()));
      return lines;
    }
    while (reader.next()) continue;
    for (const FrameDamage& one : reader.take_damage()) {
      // Skipped numbers belong to frames of values, which are not copied.
      if (one.bytes == 0 || has_hole(file, one)) continue;
      lines.push_back(
          fmt::format("{}: {} bytes at {} are damaged; nothing is lost by it: `flor "
                      "fsck --repair` makes the copy again",
                      path.string(), one.bytes, one.offset));
    }
  } catch (const Error& error) {
    lines.push_back(fmt::format("{}; nothing is lost by it", error.what()));
  }
  return lines;
}

void write_copy(Filesystem& filesystem, const fs::path& journal) {
  const fs::path path = copy_path(journal), made = path.string() + ".new";
  std::error_code error;
  fs::remove(made, error);
  {
    const File file(filesystem, journal, O_RDONLY);
    FrameReader reader(file);
    CopyWriter writer(filesystem, made, reader.id());
    std::vector<CopiedFrame> pieces;
    while (const auto frame = reader.next()) {
      if (static_cast<EventKind>(frame->kind) == EventKind::piece) {
        pieces.push_back(
            {frame->number, frame->kind, {frame->payload.begin(), frame->payload.end()}});
        continue;
      }
      const std::vector<CopiedFrame> before = std::exchange(pieces, {});
      if (!is_copied(static_cast<EventKind>(frame->kind))) continue;
      for (const CopiedFrame& piece : before) {
        writer.append(piece.number, piece.kind, piece.payload);
      }
      writer.append(frame->number, frame->kind, frame->payload);
    }
    writer.write();
  }
  if (is_absent(made)) return;
  fs::rename(made, path);
}

}  // namespace flor::store
