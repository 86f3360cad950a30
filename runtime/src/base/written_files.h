// Finds files that this process opens for writing. Calls of the C library's functions, by the
// program and by all its libraries, reach the functions defined here first.
#pragma once

#include <filesystem>
#include <vector>

namespace flor::detail {

struct WrittenFile {
  std::filesystem::path path;  ///< absolute path
  bool existed = false;        ///< it existed before this process opened it
};

/// From now on notes files below `root` that are not below `without`, up to 4 MiB of paths. Does
/// not see files of forked processes. Opening a file in a signal handler stays safe.
void notice_written_files(const std::filesystem::path& root, const std::filesystem::path& without);

/// The noted files that have changed since they were opened. Each is returned once over all calls.
std::vector<WrittenFile> take_written_files();

}  // namespace flor::detail
