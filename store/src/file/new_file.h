// A file that appears under its name only when it is complete, and durable names.
#pragma once

#include "file/filesystem.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace flor::store {

/// Writes a file from front to back, under a temporary name in the same directory, so that any
/// number of processes and threads may write the same file: the last one to finish wins. Without
/// `finish` nothing remains; leftovers of a killed process are removed when the same file is
/// written again.
class NewFile {
 public:
  /// Readable only for users who may enter its directory and whom the umask lets in. With `kInHome`
  /// as mode, creates it as `open_in_home` does.
  NewFile(Filesystem& filesystem, std::filesystem::path path, std::optional<mode_t> mode = {});
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  std::uint64_t bytes() const { return bytes_; }
  /// Syncs the file, renames it to `path`, and syncs the directory.
  void finish();

 private:
  void create();
  void remove_stale() const;

  Filesystem& filesystem_;
  std::filesystem::path path_, directory_, temporary_;
  std::optional<mode_t> mode_;
  std::unique_ptr<File> file_;
  std::uint64_t bytes_ = 0;
};

/// Throws Error if a stop is requested, so that an unfinished file is removed.
void throw_if_stopped(const std::stop_token& stop);

/// Makes the entries of a directory, and the names of all directories that lead to it, durable. Any
/// may be new: a process that made it may have been killed before it synced the name.
void sync_names(Filesystem& filesystem, const std::filesystem::path& directory);
/// The same for the directories above it only, as far as this process may read them.
void sync_names_above(Filesystem& filesystem, const std::filesystem::path& directory);

/// Writes `content` to `file`, which appears under its name when it is complete and durable, and
/// replaces an existing one. If it throws Error, an existing file stays as it was.
void write_file(const std::filesystem::path& file, std::span<const std::byte> content);

/// Makes the names of a directory and of those that lead to it durable, by syncing the directories
/// above it as far as this process may read them.
void sync_names_above(const std::filesystem::path& directory);

}  // namespace flor::store
