// Framed files: append-only files of numbered, checksummed frames, which one process writes and any
// number reads, also while it writes. Journals are such files. docs/format.md has the bytes.
//
//   file  = file header (32 bytes), frame*
//   frame = frame header (40 bytes), payload, zeros up to a multiple of 8 bytes
//
// What a reader makes of a file that is not as it was written:
//   one flipped bit, wherever it is    undone, and told
//   other damage                       costs the frames that it touches; how many is known from the
//   numbers
//                                      of the frames after it
//   an end that is not complete        a torn tail: frames that were never synced, which a crash
//   may leave
#pragma once

#include "file/filesystem.h"

#include <flor/store/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace flor::store {

inline constexpr std::size_t kFileHeaderBytes = 32;
inline constexpr std::size_t kFrameHeaderBytes = 40;
inline constexpr std::size_t kFrameBytesMax = 16 * 1024 * 1024;  ///< of a payload

/// Bytes that a frame takes in a file.
constexpr std::uint64_t frame_bytes(std::uint64_t payload) {
  return kFrameHeaderBytes + (payload + 7) / 8 * 8;
}

/// The header of a framed file, and one of its frames. `id` tells its frames from those of other
/// files; `out` grows by the bytes.
void append_file_header(std::vector<std::byte>& out, std::uint64_t id);
void append_frame(std::vector<std::byte>& out, std::uint64_t id, std::uint64_t number,
                  std::uint16_t kind, std::span<const std::byte> payload);

/// This Flor reads no framed file of that format; a newer one does.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// Writes a new framed file. Not thread-safe.
class FrameWriter {
 public:
  /// Creates `path`, which must not exist. Throws Error. Nothing is written before the first
  /// `flush`.
  FrameWriter(Filesystem& filesystem, std::filesystem::path path);
  ~FrameWriter();

  /// Takes over a frame of that kind, whose meaning is the caller's; at most kFrameBytesMax.
  /// Returns its number, from 0. It is in memory until it is flushed.
  std::uint64_t append(std::uint16_t kind, std::span<const std::byte> payload);

  /// Hands what was appended to the system, so that readers see it and a kill of this process does
  /// not lose it. Throws Error (no space, I/O) and forgets nothing: the next call writes the same
  /// bytes to the same place.
  void flush();

  /// Flushes and waits until the disk has all of it. That the file is in its directory is for the
  /// caller to sync (`sync_directory`). Where the disk refuses that, what it holds is
  /// unknown from then on, and trying again would tell nothing: the file `is_lost`, and every
  /// further call throws Error. All since `synced_frames` belongs into a new file.
  void sync();

  /// A place in the file to which `take_back` returns.
  struct Mark {
    std::uint64_t frames = 0, bytes = 0;
  };
  Mark mark() const { return {frames_, bytes()}; }
  /// Undoes all since the mark, also what was flushed. Where the disk refuses to cut that off, the
  /// file `is_lost`: what came after it would be read together with it.
  void take_back(const Mark& mark) noexcept;
  /// Cuts off what was taken back and the disk refused to cut off then; the destructor tries it,
  /// too. Until it returns, readers see it. Throws Error where the disk still refuses.
  void cut_off();

  bool is_lost() const { return lost_; }
  void lose() noexcept { lost_ = true; }
  std::uint64_t id() const { return id_; }
  std::uint64_t frames() const { return frames_; }  ///< appended
  std::uint64_t synced_frames() const { return synced_frames_; }
  std::uint64_t bytes() const {
    return flushed_ + pending_.size();
  }                                                                ///< of the file with all of them
  std::uint64_t pending_bytes() const { return pending_.size(); }  ///< in memory
  const std::filesystem::path& path() const { return file_.path(); }
  int descriptor() const { return file_.descriptor(); }

 private:
  File file_;
  std::uint64_t id_;
  std::vector<std::byte> pending_;
  std::uint64_t flushed_ = 0;
  std::uint64_t frames_ = 0, synced_frames_ = 0;
  bool lost_ = false;
  bool uncut_ = false;  ///< frames that were taken back lie beyond what was flushed
};

struct Frame {
  std::uint16_t kind = 0;
  std::uint64_t number = 0;  ///< of the frame in its file
  std::uint64_t offset = 0;  ///< of its header
  /// Belongs to the reader; valid until its next call.
  std::span<const std::byte> payload;
};

/// Damage that was met on the way.
struct FrameDamage {
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t first = 0, lost = 0;  ///< number of the first frame that it costs, and how many
  bool undone = false;                ///< one bit was flipped, and nothing is lost
};

/// Where a framed file comes from.
enum class FrameSource {
  home,       ///< this home: what is damaged is mended or passed over
  elsewhere,  ///< its maker may have chosen the checksums, too: `next` throws Damaged at the first
              ///< damage
};

/// Reads a framed file from front to back. Not thread-safe. Memory: the greatest frame.
class FrameReader {
 public:
  /// `file` must outlive the reader. Throws Damaged if this is no framed file, NewerFormat for
  /// one of a newer format.
  explicit FrameReader(const File& file, FrameSource source = FrameSource::home);
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// The next sound frame; nothing at the end of what is there now, where a later call goes on: a
  /// writer may have added to it. Damage before the frame is told by `take_damage`.
  std::optional<Frame> next();

  /// Goes on where another reader of the same file stopped: its `position` and `number`.
  void go_on_at(std::uint64_t position, std::uint64_t number);

  /// Damage that was met since the last call, in order.
  std::vector<FrameDamage> take_damage();

  std::uint64_t id() const;  ///< of the file
  /// Where the next frame begins. When `next` returned nothing, and no process writes the file any
  /// more, all that lies between here and the file's end is a torn tail.
  std::uint64_t position() const;
  /// The number of the next frame.
  std::uint64_t number() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::store
