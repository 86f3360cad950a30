// Which libraries the store works with.
#pragma once

#include <map>
#include <string>

namespace flor::store {

/// {"SQLite": "3.40.1", "zstd": "1.5.4"}, as they are loaded now.
std::map<std::string, std::string> library_versions();

}  // namespace flor::store
