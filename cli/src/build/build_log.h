// Finds the error of a build in its log.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

struct FoundError {
  std::string line;     ///< the first line that names the error; empty if the log is
  std::string excerpt;  ///< that line and those that belong to it, or the end of the log
};

/// Understands compilers, linkers, CMake, make and ninja; for other tools takes the last lines. The
/// beginning `root`/ of paths is left out.
FoundError find_error(std::string_view log, const std::string& root);

}  // namespace flor::cli
