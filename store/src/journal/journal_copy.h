// The copy of a journal: beside `journal`, a file `journal.copy` with the same header and, byte for
// byte, all frames except those of logged values. If one of the two is damaged, cut off or gone,
// the other still has the run's events, layouts and checkpoints.
// A frame comes into the copy some seconds after it counts and is durable in the journal: the copy
// never knows more than the journal did, and hardly a commit waits for it.
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

/// Whether frames of that kind, and the pieces before them, are copied.
constexpr bool is_copied(EventKind kind) {
  return kind != EventKind::values && kind != EventKind::found;
}

/// Writes the copy of a journal that this process writes. Not thread-safe.
class CopyWriter {
 public:
  /// `id`: of the journal.
  CopyWriter(Filesystem& filesystem, std::filesystem::path path, std::uint64_t id);
  /// Writes the rest, except in a child of fork().
  ~CopyWriter();
  CopyWriter(const CopyWriter&) = delete;
  CopyWriter& operator=(const CopyWriter&) = delete;

  /// Takes a frame of the journal, which is copied if it comes to count.
  void append(std::uint64_t number, std::uint16_t kind, std::span<const std::byte> payload);
  void take_back() noexcept { waiting_.resize(kept_); }
  /// Makes the appended frames count. They are written with others in the next seconds; frames that
  /// a disk refuses wait, and are left out if they are many.
  void keep() noexcept;
  /// Writes the frames that count. Throws Error; the next call writes the same bytes to the same
  /// place.
  void write();
  /// Removes the file, for good.
  void remove() noexcept;

 private:
  /// The length of the header in `waiting_`, where it stands until it is written.
  std::size_t header_bytes() const { return written_ == 0 ? kFileHeaderBytes : 0; }

  Filesystem& filesystem_;
  std::filesystem::path path_;
  std::vector<std::byte> waiting_;
  std::uint64_t id_;
  std::size_t kept_;           ///< of `waiting_`, the bytes that count
  std::uint64_t written_ = 0;  ///< bytes of the file
  std::chrono::steady_clock::time_point written_at_ = {};
  ::pid_t process_;
};

struct CopiedFrame {
  std::uint64_t number = 0;
  std::uint16_t kind = 0;
  std::vector<std::byte> payload;
};

/// The sound frames `first` to `end` - 1 of the journal's copy, as far as it has them. None where
/// there is no copy, or one of another journal: `id` is the journal's, if that is known.
std::vector<CopiedFrame> copied_frames(Filesystem& filesystem, const std::filesystem::path& journal,
                                       std::optional<std::uint64_t> id, std::uint64_t first,
                                       std::uint64_t end);

/// A line for each damage of the copy; nothing is lost by it while the journal is sound.
std::vector<std::string> damage_of_copy(Filesystem& filesystem,
                                        const std::filesystem::path& journal);

/// Makes the copy of a sound journal that no process writes, in the place of the present one.
void write_copy(Filesystem& filesystem, const std::filesystem::path& journal);

}  // namespace flor::store
