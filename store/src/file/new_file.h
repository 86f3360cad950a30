// Files that appear under their name only when complete, and directory entries that are durable.
#pragma once

#include "file/filesystem.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace flor::store {

/// Writes a file from front to back under a temporary name in the same directory. Several processes
/// and threads may write the same file at once; the last to finish replaces the others' result.
/// Without `finish` the temporary file is removed. One left by a killed process is removed when the
/// same file is written again.
class NewFile {
 public:
  /// The file's mode is limited by the umask, and only users who may enter its directory can read
  /// it. With mode `kInHome` it is created as by `open_in_home`.
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

/// Throws Error if a stop was requested. Called during writing, so that the NewFile is destroyed
/// unfinished.
void throw_if_stopped(const std::stop_token& stop);

/// Syncs a directory and all its parents, so that their entries are durable. Parents are included
/// because the process that made them may have been killed before it synced them.
void sync_names(Filesystem& filesystem, const std::filesystem::path& directory);
/// Syncs all parents of a directory, as far as this process may read them, but not itself.
void sync_names_above(Filesystem& filesystem, const std::filesystem::path& directory);

/// Writes `content` to `file`, replacing an existing one. The new file appears when it is complete
/// and durable. If it throws Error, an existing file is unchanged.
void write_file(const std::filesystem::path& file, std::span<const std::byte> content);

/// Makes the name of a directory and those of its parents durable, by syncing the parents as far as
/// this process may read them.
void sync_names_above(const std::filesystem::path& directory);

}  // namespace flor::store
