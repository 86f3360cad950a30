// The stat data of each file at the last shadow commit of a work tree, so that the next commit
// reads only changed files. This is only a cache: any process may replace it at any time, and a
// missing, damaged or older-format cache counts as empty.
#pragma once

#include "git/library.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flor::git {

struct FileStat {
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;  ///< st_mode

  static FileStat of(const struct stat& status);
  bool operator==(const FileStat&) const = default;
};

/// A file of the work tree as it is written into a tree object.
struct FileEntry {
  std::string path;
  std::uint32_t mode = 0;  ///< as in tree objects
  git_oid id{};
  FileStat stat;          ///< all zero: the file must be read again
  bool searched = false;  ///< it was searched for secrets, and has none
};

/// A directory and the id of its tree object.
struct DirectoryTree {
  std::string path;  ///< empty for the root, else with a trailing slash
  git_oid id{};
};

struct StatCache {
  git_oid commit{};                  ///< the shadow commit for which the entries were written
  git_oid head{};                    ///< an ancestor of `commit`
  std::int64_t stamp_ns = 0;         ///< clock of the file system when the walk began, in ns
  std::vector<FileEntry> entries;    ///< sorted by path
  std::vector<DirectoryTree> trees;  ///< one for every directory, sorted by path

  /// True if the file with this stat data is known to have the entry's content. A file that changed
  /// just before the walk, within the resolution of the clock, is never trusted.
  bool trusts(const FileEntry& entry, const FileStat& now) const;

  /// The tree of a directory; null if there is none.
  const DirectoryTree* tree_of(std::string_view directory) const;

  static StatCache load(const std::filesystem::path& file);
};

/// Replaces the cache file atomically. It is made before the walk, so that its time stamp comes
/// from the same clock as those of the files. A failed write is no error: the next commit is only
/// slower.
class StatCacheWriter {
 public:
  explicit StatCacheWriter(const std::filesystem::path& file);
  ~StatCacheWriter();
  StatCacheWriter(const StatCacheWriter&) = delete;
  StatCacheWriter& operator=(const StatCacheWriter&) = delete;

  std::int64_t stamp_ns() const { return stamp_ns_; }
  void publish(const StatCache& cache);

 private:
  std::filesystem::path file_;
  std::string temporary_;
  int descriptor_ = -1;
  std::int64_t stamp_ns_ = 0;
};

}  // namespace flor::git
