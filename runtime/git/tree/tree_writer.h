// Turns a sorted list of files into tree objects.
#pragma once

#include "git/library.h"
#include "git/tree/stat_cache.h"

#include <span>
#include <vector>

namespace flor::git {

/// Writes the tree objects for `entries`, which are sorted by path; no path may be there twice, or
/// be below another. Returns the trees of all directories, sorted by path, the root first. Trees
/// that `cache` has are taken to be in the database already.
std::vector<DirectoryTree> write_trees(git_odb* odb, std::span<const FileEntry> entries,
                                       const StatCache& cache);

}  // namespace flor::git
