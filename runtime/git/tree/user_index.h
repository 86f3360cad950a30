// Brings the user's own index in line with a commit. Only for the one case where a shadow commit is
// the user's commit: HEAD stands on the shadow branch.
#pragma once

#include "git/library.h"
#include "git/tree/stat_cache.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::git {

/// Holds git's own lock of the index; releases it without a change unless published.
class UserIndexUpdate {
 public:
  /// Throws flor::Busy if the lock cannot be had within a few seconds.
  UserIndexUpdate(std::filesystem::path git_directory, std::filesystem::path root);
  ~UserIndexUpdate();
  UserIndexUpdate(const UserIndexUpdate&) = delete;
  UserIndexUpdate& operator=(const UserIndexUpdate&) = delete;

  /// Makes the new index, so that only a rename is left to do.
  void prepare(const std::vector<FileEntry>& entries);
  void publish();

 private:
  std::filesystem::path root_, index_, lock_, copy_;
  bool locked_ = false;
};

}  // namespace flor::git
