// The versions of the libraries that the store uses.
#pragma once

#include <map>
#include <string>

namespace flor::store {

/// Returns the versions of the loaded libraries: {"SQLite": "3.40.1", "zstd": "1.5.4"}.
std::map<std::string, std::string> library_versions();

}  // namespace flor::store
