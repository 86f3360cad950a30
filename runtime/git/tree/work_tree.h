// The files of a work tree together with their object ids, from which a tree can be written.
#pragma once

#include "git/tree/walk.h"

#include <string>
#include <vector>

namespace flor::git {

struct Snapshot {
  std::vector<FileEntry> entries;     ///< sorted by path
  std::vector<std::string> left_out;  ///< sorted
  std::vector<std::string> secrets;   ///< sorted
  FileCount outputs;
  std::size_t read = 0;               ///< number of files whose content had to be read
};

/// Walks the work tree, and stores content that is not known yet in the object database.
Snapshot take_snapshot(const WalkInput& input);

}  // namespace flor::git
