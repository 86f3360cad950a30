// Finds the error of a build in its log.
#pragma once

#include <string>
#include <string_view>

namespace flor::cli {

struct FoundError {
  std::string line;     ///< the first line that names the error; empty if the log is empty
  std::string excerpt;  ///< that line and the lines that belong to it; without an error, the end of
                        ///< the log
};

/// Understands the logs of compilers, linkers, CMake, make and ninja; of other tools it takes the
/// last lines. Paths below `root` are shown relative to it.
FoundError find_error(std::string_view log, const std::string& root);

}  // namespace flor::cli
