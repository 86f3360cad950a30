// Turns a sorted list of files into tree objects.
#pragma once

#include "git/library.h"
#include "git/tree/stat_cache.h"

#include <span>
#include <vector>

namespace flor::git {

/// Writes the trees for `entries` (by path, no path twice and none below another) and returns those
/// of all directories, by path, the root first. Trees in `cache` are taken to be in the database.
std::vector<DirectoryTree> write_trees(git_odb* odb, std::span<const FileEntry> entries,
                                       const StatCache& cache);

}  // namespace flor::git
