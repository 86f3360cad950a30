// Reads the index file of a work tree (.git/index), versions 2 to 4, split and sparse ones and ones
// without a checksum included, which libgit2 refuses. Only reads; nothing of the user's index is
// ever changed here.
#pragma once

#include "git/library.h"
#include "git/tree/stat_cache.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::git {

/// One path that git tracks.
struct TrackedEntry {
  std::string path;
  std::uint32_t mode = 0;  ///< as in trees: 0100644, 0100755, 0120000, 0160000
  git_oid id{};
  bool skip_worktree = false;  ///< sparse checkout: not expected in the work tree
  bool conflicted = false;     ///< of an unfinished merge; id is one of the sides
  /// The file's stat data when git last compared it, cut to 32 bits as the format has it.
  std::uint32_t ctime_s = 0, ctime_ns = 0, mtime_s = 0, mtime_ns = 0;
  std::uint32_t inode = 0, size = 0;

  /// True if git would call the file unmodified by its stat data alone.
  bool matches(const FileStat& now, std::int64_t index_mtime_s) const;
};

struct IndexFile {
  std::vector<TrackedEntry> entries;  ///< by path, each once
  std::int64_t mtime_s = 0;           ///< of the file, 0 if there is none
};

/// The index in `git_directory` of `repository`; empty where there is none yet. Directories of a
/// sparse index are expanded. Throws flor::Damaged for a file that cannot be understood.
IndexFile read_index_file(const std::filesystem::path& git_directory, git_repository* repository);

}  // namespace flor::git
