// Framed files: append-only files of numbered, checksummed frames. One process writes; any number
// may read at the same time. Journals are such files. docs/internals/format.md has the bytes.
//
//   file  = file header (32 bytes), frame*
//   frame = frame header (40 bytes), payload, zeros up to a multiple of 8 bytes
//
// Damage, as a reader treats it:
//   one flipped bit, anywhere    undone and reported
//   other damage                 costs the frames that it touches; the numbers of the frames after
//                                it tell how many
//   an incomplete end            a torn tail: frames that were never synced, which a crash may
//                                leave
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
inline constexpr std::size_t kFrameBytesMax = 16 * 1024 * 1024;  ///< limit of a payload

/// Bytes that a frame takes in a file.
constexpr std::uint64_t frame_bytes(std::uint64_t payload) {
  return kFrameHeaderBytes + (payload + 7) / 8 * 8;
}

/// Append to `out` the header of a framed file, and one of its frames. `id` tells its frames from
/// those of other files.
void append_file_header(std::vector<std::byte>& out, std::uint64_t id);
void append_frame(std::vector<std::byte>& out, std::uint64_t id, std::uint64_t number,
                  std::uint16_t kind, std::span<const std::byte> payload);

/// Thrown for a framed file of a format that only a newer Flor reads.
class NewerFormat : public Error {
 public:
  using Error::Error;
};

/// Writes a new framed file. Not thread-safe.
class FrameWriter {
 public:
  /// Creates `path`, which must not exist. Throws Error. Writes nothing before the first `flush`.
  FrameWriter(Filesystem& filesystem, std::filesystem::path path);
  ~FrameWriter();

  /// Appends a frame of at most kFrameBytesMax, which is in memory until it is flushed. The meaning
  /// of `kind` is up to the caller. Returns the frame's number, from 0.
  std::uint64_t append(std::uint16_t kind, std::span<const std::byte> payload);

  /// Hands the appended frames to the system, so that readers see them and a kill of this process
  /// does not lose them. If it throws Error (no space, I/O), nothing is lost: the next call writes
  /// the same bytes to the same place.
  void flush();

  /// Flushes and waits until the disk has all frames. The caller must sync the directory itself
  /// (`sync_directory`). If the disk refuses, its content is unknown from then on, and trying again
  /// would tell nothing: the file `is_lost`, and every further call throws Error. All frames since
  /// `synced_frames` belong into a new file.
  void sync();

  /// A place in the file to which `take_back` returns.
  struct Mark {
    std::uint64_t frames = 0, bytes = 0;
  };
  Mark mark() const { return {frames_, bytes()}; }
  /// Removes all frames since the mark, even flushed ones. If the disk refuses to cut those off,
  /// the file `is_lost`: readers would see them before any later frame.
  void take_back(const Mark& mark) noexcept;
  /// Cuts off the frames that the disk refused to cut off in `take_back`; the destructor tries it,
  /// too. Until then readers see them. Throws Error if the disk still refuses.
  void cut_off();

  bool is_lost() const { return lost_; }
  void lose() noexcept { lost_ = true; }
  std::uint64_t id() const { return id_; }
  std::uint64_t frames() const { return frames_; }  ///< appended
  std::uint64_t synced_frames() const { return synced_frames_; }
  std::uint64_t bytes() const {
    return flushed_ + pending_.size();
  }                                                                ///< of the file with all frames
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
  bool uncut_ = false;  ///< frames that were taken back lie beyond the flushed ones
};

struct Frame {
  std::uint16_t kind = 0;
  std::uint64_t number = 0;  ///< of the frame in its file
  std::uint64_t offset = 0;  ///< of its header
  /// Belongs to the reader; valid until its next call.
  std::span<const std::byte> payload;
};

/// Damage that a reader met.
struct FrameDamage {
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t first = 0, lost = 0;  ///< number of the first frame that it costs, and how many
  bool undone = false;                ///< one flipped bit was mended, and nothing is lost
};

/// Where a framed file comes from.
enum class FrameSource {
  home,       ///< this home: damage is mended or skipped
  elsewhere,  ///< its maker may have chosen the checksums, too: `next` throws Damaged at the first
              ///< damage
};

/// Reads a framed file from front to back. Not thread-safe. Needs memory for the largest frame.
class FrameReader {
 public:
  /// `file` must outlive the reader. Throws Damaged if this is no framed file, NewerFormat for
  /// one of a newer format.
  explicit FrameReader(const File& file, FrameSource source = FrameSource::home);
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// The next sound frame; nothing at the present end of the file, from where a later call
  /// continues once a writer has added frames. `take_damage` has the damage before the frame.
  std::optional<Frame> next();

  /// Continues where another reader of the same file stopped: at its `position` and `number`.
  void go_on_at(std::uint64_t position, std::uint64_t number);

  /// Damage met since the last call, in order.
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
