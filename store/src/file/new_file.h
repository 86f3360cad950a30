// A file that appears under its name only when it is whole, and names that stay.
#pragma once

#include "file/filesystem.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace flor::store {

/// Written from front to back, under a name of its own in the same directory, so that any number of
/// processes and threads may write the same file: the last one to finish wins. Without `finish`
/// nothing is left of it; what a killed process left is removed when the same file is written
/// again.
class NewFile {
 public:
  /// Nobody may read it who may not enter its directory, nor whom the umask keeps out. `kInHome` as
  /// mode: as `open_in_home` does.
  NewFile(Filesystem& filesystem, std::filesystem::path path, std::optional<mode_t> mode = {});
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::span<const std::byte> bytes);
  std::uint64_t bytes() const { return bytes_; }
  /// Syncs it, puts it in the place of `path`, and syncs the directory.
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

/// Throws Error if it is requested: what was begun then leaves nothing behind.
void throw_if_stopped(const std::stop_token& stop);

/// Makes the names durable of a directory and of those that lead to it. Which of them are new is
/// not known: a process that made them may have been killed before it came to this.
void sync_names(Filesystem& filesystem, const std::filesystem::path& directory);
/// Only of the directories above it, as far as this process may read them.
void sync_names_above(Filesystem& filesystem, const std::filesystem::path& directory);

/// Puts `content` into `file`: it appears under its name when it is whole and durable, an existing
/// one is replaced. Throws Error if it cannot be written; an existing file stays as it is then.
void write_file(const std::filesystem::path& file, std::span<const std::byte> content);

/// Makes the names durable of a directory and of those that lead to it, which are written in those
/// above it, as far as this process may read them.
void sync_names_above(const std::filesystem::path& directory);

}  // namespace flor::store
