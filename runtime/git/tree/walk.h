// Walks a work tree and finds the files that belong in a commit of it: all tracked files, and the
// untracked files that are neither ignored nor to be left out.
#pragma once

#include "git/library.h"
#include "git/shadow.h"
#include "git/tree/ignore.h"
#include "git/tree/index_file.h"
#include "git/tree/stat_cache.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::git {

struct FoundFile {
  FileEntry entry;
  const TrackedEntry* tracked = nullptr;  ///< null if untracked
  bool known = false;  ///< entry.id is its content's id; else the content must be read
  bool guarded = false;                   ///< to be left out if it holds a secret
};

struct Walked {
  /// Nearly sorted by path: only repositories inside the work tree are out of order.
  std::vector<FoundFile> files;
  std::vector<bool> seen;               ///< for each tracked entry, whether it was found
  std::vector<std::string> unreadable;  ///< paths of directories, with a trailing slash
  std::vector<std::string> left_out;
  std::vector<std::string> secrets;  ///< names of files left out since they may hold secrets
  FileCount outputs;  ///< files that the program writes, left out
};

struct WalkInput {
  git_repository* repository;
  std::filesystem::path root;
  const IndexFile& index;
  const StatCache& cache;
  /// True if the branch contains all objects of the cache; else each is looked up in `odb`.
  bool cache_reachable;
  git_odb* odb;
  const CommitOptions& options;
};

Walked walk_work_tree(const WalkInput& input);

}  // namespace flor::git
