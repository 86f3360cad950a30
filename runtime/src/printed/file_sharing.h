// Finds files to which other processes print, too.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

namespace flor::detail {

struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

/// Tells for each of the files whether another process on this machine has it as its standard
/// output or standard error. Processes that this one has started do not count, nor do those that
/// have started it, such as a shell. Looks at every process, which takes some us for each.
std::vector<bool> shared_with_others(std::span<const FileId> files);

}  // namespace flor::detail
