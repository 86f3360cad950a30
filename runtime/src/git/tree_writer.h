// Turns a sorted list of files into tree objects.
#pragma once

#include "library.h"
#include "stat_cache.h"

#include <span>
#include <vector>

namespace flor::git {

struct WrittenTrees {
  git_oid root{};
  std::vector<git_oid> all;  ///< sorted, the root included
};

/// Writes the trees for `entries` (by path, no path twice and none below another). Those in `known`
/// (sorted) are in the database already.
WrittenTrees write_trees(git_odb* odb, std::span<const FileEntry> entries,
                         const std::vector<git_oid>& known);

}  // namespace flor::git
