// Reads the index file of a work tree (.git/index), versions 2 to 4. Unlike libgit2 it accepts
// split and sparse indexes and ones without a checksum. Never writes to the user's index.
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
  std::uint32_t mode = 0;  ///< as in tree objects: 0100644, 0100755, 0120000, 0160000
  git_oid id{};
  bool skip_worktree = false;  ///< sparse checkout: the file is not expected in the work tree
  bool conflicted = false;     ///< the path has a merge conflict; `id` is one of the sides
  /// The file's stat data when git last compared it, cut to 32 bits as in the index format.
  std::uint32_t ctime_s = 0, ctime_ns = 0, mtime_s = 0, mtime_ns = 0;
  std::uint32_t inode = 0, size = 0;

  /// True if git would take the file for unmodified by its stat data alone. `index_mtime_s` is when
  /// the index was written.
  bool matches(const FileStat& now, std::int64_t index_mtime_s) const;
};

struct IndexFile {
  std::vector<TrackedEntry> entries;  ///< sorted by path; each path once
  std::int64_t mtime_s = 0;           ///< modification time of the index file, 0 if there is none
};

/// Reads the index in `git_directory` of `repository`; empty if there is none yet. Directories that
/// a sparse index collapses are expanded. Throws flor::Damaged if the file cannot be understood.
IndexFile read_index_file(const std::filesystem::path& git_directory, git_repository* repository);

}  // namespace flor::git
