// The files of a work tree with their objects, ready to become a tree.
#pragma once

#include "git/tree/walk.h"

#include <string>
#include <vector>

namespace flor::git {

struct Snapshot {
  std::vector<FileEntry> entries;     ///< by path
  std::vector<std::string> left_out;  ///< sorted
  std::vector<std::string> secrets;   ///< sorted
  FileCount outputs;
  std::size_t read = 0;               ///< files whose content had to be read
};

/// Walks the work tree, and puts the content that is not known yet into the object database.
Snapshot take_snapshot(const WalkInput& input);

}  // namespace flor::git
