// Updates the user's own index to match a commit. Needed only if HEAD is on the shadow branch, so
// that a shadow commit is also the user's next commit.
#pragma once

#include "git/library.h"
#include "git/tree/stat_cache.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::git {

/// Holds git's lock on the index. Without `publish` it releases the lock and changes nothing.
class UserIndexUpdate {
 public:
  /// Throws flor::Busy if the lock cannot be acquired within a few seconds.
  UserIndexUpdate(std::filesystem::path git_directory, std::filesystem::path root);
  ~UserIndexUpdate();
  UserIndexUpdate(const UserIndexUpdate&) = delete;
  UserIndexUpdate& operator=(const UserIndexUpdate&) = delete;

  /// Writes the new index beside the old one, so that `publish` only has to rename it.
  void prepare(const std::vector<FileEntry>& entries);
  void publish();

 private:
  std::filesystem::path root_, index_, lock_, copy_;
  bool locked_ = false;
};

}  // namespace flor::git
