// The copy of a journal: next to `journal` lies `journal.copy`, with the same header and byte for
// byte the same frames, except those of logged values. If one of the two is damaged, truncated or
// gone, the other still has the run's events, layouts and checkpoints.
//
// A frame is copied some seconds after it became valid and durable in the journal. The copy
// therefore never has more than the journal had, and commits rarely wait for it.
#pragma once

#include "file/filesystem.h"
#include "file/frames.h"
#include "journal/events.h"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

std::filesystem::path copy_path(const std::filesystem::path& journal);

/// True if frames of this kind, and pieces that precede them, are copied.
constexpr bool is_copied(EventKind kind) {
  return kind != EventKind::values && kind != EventKind::found;
}

/// Writes the copy of a journal that this process writes. Not thread-safe.
class CopyWriter {
 public:
  /// `id` is that of the journal.
  CopyWriter(Filesystem& filesystem, std::filesystem::path path, std::uint64_t id);
  /// Writes what has not been written yet, except in a child of fork().
  ~CopyWriter();
  CopyWriter(const CopyWriter&) = delete;
  CopyWriter& operator=(const CopyWriter&) = delete;

  /// Takes a frame of the journal. It is copied only after `keep`.
  void append(std::uint64_t number, std::uint16_t kind, std::span<const std::byte> payload);
  void take_back() noexcept { waiting_.resize(kept_); }
  /// Makes the appended frames valid. They are written together some seconds later. If the disk
  /// refuses, they wait, and are dropped if they become many.
  void keep() noexcept;
  /// Writes the valid frames. If it throws Error, the next call writes the same bytes to the same
  /// place.
  void write();
  /// Deletes the file and stops copying.
  void remove() noexcept;

 private:
  /// Number of bytes at the beginning of `waiting_` that are the file header, until it is written.
  std::size_t header_bytes() const { return written_ == 0 ? kFileHeaderBytes : 0; }

  Filesystem& filesystem_;
  std::filesystem::path path_;
  std::vector<std::byte> waiting_;
  std::uint64_t id_;
  std::size_t kept_;           ///< bytes of `waiting_` that are valid
  std::uint64_t written_ = 0;  ///< length of the file
  std::chrono::steady_clock::time_point written_at_ = {};
  ::pid_t process_;
};

struct CopiedFrame {
  std::uint64_t number = 0;
  std::uint16_t kind = 0;
  std::vector<std::byte> payload;
};

/// Returns the undamaged frames with numbers `first` to `end` - 1 that the journal's copy has.
/// Returns none if there is no copy, or if it belongs to another journal than `id` (if given).
std::vector<CopiedFrame> copied_frames(Filesystem& filesystem, const std::filesystem::path& journal,
                                       std::optional<std::uint64_t> id, std::uint64_t first,
                                       std::uint64_t end);

/// Returns a line for each damage of the copy. It costs nothing as long as the journal is sound.
std::vector<std::string> damage_of_copy(Filesystem& filesystem,
                                        const std::filesystem::path& journal);

/// Creates the copy of a sound journal that no process writes, replacing an existing one.
void write_copy(Filesystem& filesystem, const std::filesystem::path& journal);

}  // namespace flor::store
