// Framed files: append-only files of numbered, checksummed frames. One process writes; any number
// may read at the same time. Journals are such files. docs/internals/format.md has the bytes.
//
//   file  = file header (32 bytes), frame*
//   frame = frame header (40 bytes), payload, zeros up to a multiple of 8 bytes
//
// How a reader treats damage:
//   one flipped bit, anywhere    repaired and reported
//   other damage                 the affected frames are lost; the numbers of later frames show how
//                                many
//   an incomplete end            a torn tail: frames that were not synced, which a crash may leave
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
inline constexpr std::size_t kFrameBytesMax = 16 * 1024 * 1024;  ///< limit of a frame's payload

/// Bytes that a frame takes in a file.
constexpr std::uint64_t frame_bytes(std::uint64_t payload) {
  return kFrameHeaderBytes + (payload + 7) / 8 * 8;
}

/// These append to `out` the header of a framed file, or a frame. `id` marks which file a frame
/// belongs to.
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

  /// Appends a frame of at most kFrameBytesMax bytes; it stays in memory until `flush`. The caller
  /// defines the meaning of `kind`. Returns the number of the frame, from 0.
  std::uint64_t append(std::uint16_t kind, std::span<const std::byte> payload);

  /// Writes the appended frames to the file, so that readers see them and they survive a kill of
  /// this process. If it throws Error (no space, I/O), nothing is lost: the next call writes the
  /// same bytes to the same place.
  void flush();

  /// Flushes, and waits until all frames are on disk. The caller must sync the directory
  /// (`sync_directory`). If it fails, it is unknown what is on disk, and a second attempt would not
  /// tell: the file `is_lost`, and every further call throws Error. The caller then writes all
  /// frames since `synced_frames` to a new file.
  void sync();

  /// A place in the file to which `take_back` returns.
  struct Mark {
    std::uint64_t frames = 0, bytes = 0;
  };
  Mark mark() const { return {frames_, bytes()}; }
  /// Removes all frames since the mark, also flushed ones. If the file cannot be truncated, it
  /// `is_lost`, because readers would see the removed frames before any later one.
  void take_back(const Mark& mark) noexcept;
  /// Truncates the file after a `take_back` that could not; until then readers see the removed
  /// frames. Throws Error if truncating fails again. The destructor also tries it.
  void cut_off();

  bool is_lost() const { return lost_; }
  void lose() noexcept { lost_ = true; }
  std::uint64_t id() const { return id_; }
  std::uint64_t frames() const { return frames_; }  ///< appended
  std::uint64_t synced_frames() const { return synced_frames_; }
  std::uint64_t bytes() const {
    return flushed_ + pending_.size();
  }                                                                ///< of the file, with all frames
  std::uint64_t pending_bytes() const { return pending_.size(); }  ///< not yet flushed
  const std::filesystem::path& path() const { return file_.path(); }
  int descriptor() const { return file_.descriptor(); }

 private:
  File file_;
  std::uint64_t id_;
  std::vector<std::byte> pending_;
  std::uint64_t flushed_ = 0;
  std::uint64_t frames_ = 0, synced_frames_ = 0;
  bool lost_ = false;
  bool uncut_ = false;  ///< removed frames still follow the flushed ones
};

struct Frame {
  std::uint16_t kind = 0;
  std::uint64_t number = 0;  ///< number of the frame in its file
  std::uint64_t offset = 0;  ///< offset of the frame's header
  /// Owned by the reader; valid until its next call.
  std::span<const std::byte> payload;
};

/// Damage that a reader has found.
struct FrameDamage {
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t first = 0, lost = 0;  ///< number of the first lost frame, and how many are lost
  bool undone = false;                ///< a single flipped bit was repaired, and nothing is lost
};

/// Where a framed file comes from, which decides how damage is treated.
enum class FrameSource {
  home,       ///< this home: damage is repaired or skipped
  elsewhere,  ///< another machine, which may have forged the checksums: `next` throws Damaged at
              ///< the first damage
};

/// Reads a framed file from front to back. Not thread-safe. Needs memory for the largest frame.
class FrameReader {
 public:
  /// `file` must outlive the reader. Throws Damaged if it is not a framed file, NewerFormat if a
  /// newer Flor wrote it.
  explicit FrameReader(const File& file, FrameSource source = FrameSource::home);
  ~FrameReader();
  FrameReader(FrameReader&&) noexcept;
  FrameReader& operator=(FrameReader&&) noexcept;

  /// Returns the next sound frame; `take_damage` then returns the damage before it. Returns nullopt
  /// at the current end of the file; a later call continues there when the file has grown.
  std::optional<Frame> next();

  /// Continues where another reader of the same file stopped, at that reader's `position` and
  /// `number`.
  void go_on_at(std::uint64_t position, std::uint64_t number);

  /// Returns the damage found since the last call, in order.
  std::vector<FrameDamage> take_damage();

  std::uint64_t id() const;  ///< id of the file
  /// Returns the offset of the next frame. If `next` returned nullopt and no process writes the
  /// file, everything from this offset to the end of the file is a torn tail.
  std::uint64_t position() const;
  /// The number of the next frame.
  std::uint64_t number() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flor::store
