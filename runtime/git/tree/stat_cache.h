// The stat data of each file at the last shadow commit of a work tree, so that the next one reads
// only changed files. Only a cache: any other process may replace it at any time, and one that is
// missing, damaged or of another version is the same as none.
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

/// A file of the work tree as it is entered into a tree.
struct FileEntry {
  std::string path;
  std::uint32_t mode = 0;  ///< as in trees
  git_oid id{};
  FileStat stat;          ///< all zero where it must be looked at again
  bool searched = false;  ///< for secrets: none are in it
};

/// A directory and its tree.
struct DirectoryTree {
  std::string path;  ///< empty for the root, else with a trailing slash
  git_oid id{};
};

struct StatCache {
  git_oid commit{};                  ///< the shadow commit that the entries were written for
  git_oid head{};                    ///< a commit that `commit` has among its ancestors
  std::int64_t stamp_ns = 0;         ///< clock of the file system when the walk began
  std::vector<FileEntry> entries;    ///< by path
  std::vector<DirectoryTree> trees;  ///< of every directory, by path

  /// True if the entry's content is known to be that of the file with this stat data. Files that
  /// changed within the resolution of the clock before the walk are never trusted.
  bool trusts(const FileEntry& entry, const FileStat& now) const;

  /// The entry for the tree of a directory; null if there is none.
  const DirectoryTree* tree_of(std::string_view directory) const;

  static StatCache load(const std::filesystem::path& file);
};

/// Replaces the cache file atomically. Made before the walk, so that its time stamp is of the same
/// clock as those of the files. Failing to write is not an error: the next commit is slower.
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
