// Walks a work tree and finds the files that belong into a commit of it: everything tracked, and
// everything untracked that is not ignored and not to be left out.
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
  bool known = false;                     ///< entry.id is the content; else it must be read
  bool guarded = false;                   ///< it is left out if it holds a secret
};

struct Walked {
  std::vector<FoundFile> files;         ///< nearly by path: repositories inside are out of order
  std::vector<bool> seen;               ///< for each tracked entry
  std::vector<std::string> unreadable;  ///< directories, with a trailing slash
  std::vector<std::string> left_out;
  std::vector<std::string> secrets;  ///< left out, too: names
  FileCount outputs;  ///< left out, too
};

struct WalkInput {
  git_repository* repository;
  std::filesystem::path root;
  const IndexFile& index;
  const StatCache& cache;
  /// Objects of the cache are reachable from the branch; else each is looked for in `odb`.
  bool cache_reachable;
  git_odb* odb;
  const CommitOptions& options;
};

Walked walk_work_tree(const WalkInput& input);

}  // namespace flor::git
