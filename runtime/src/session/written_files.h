// Files that this process opens for writing: calls of the C library by the program and all its
// libraries pass through here first.
#pragma once

#include <filesystem>
#include <vector>

namespace flor::detail {

struct WrittenFile {
  std::filesystem::path path;  ///< absolute
  bool existed = false;        ///< before this process opened it
};

/// Notices from now on files below `root`, but not below `without`; as many as 4 MiB of paths hold.
/// Files of forked processes are not noticed. Opening a file stays safe in handlers of signals.
void notice_written_files(const std::filesystem::path& root, const std::filesystem::path& without);

/// The files that have changed since they were opened. Each is returned once over all calls.
std::vector<WrittenFile> take_written_files();

}  // namespace flor::detail
