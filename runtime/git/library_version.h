// Tells the version of the loaded libgit2.
#pragma once

#include <string>

namespace flor::git {

std::string library_version();  ///< of the loaded library, e.g. "1.5.1"

}  // namespace flor::git
