// Which libgit2 there is.
#pragma once

#include <string>

namespace flor::git {

std::string library_version();  ///< "1.5.1", as it is loaded now

}  // namespace flor::git
