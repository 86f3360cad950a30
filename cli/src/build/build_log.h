// What went wrong in a build, out of the log that it wrote.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

struct FoundError {
  std::string line;     ///< the first line that says what is wrong; empty if the log is
  std::string excerpt;  ///< that line and those that belong to it, or the end of the log
};

/// Compilers, linkers, CMake, make and ninja are understood; of anything else the last lines count.
/// The beginning `root`/ of paths is left out.
FoundError find_error(std::string_view log, const std::string& root);

}  // namespace flor::cli
