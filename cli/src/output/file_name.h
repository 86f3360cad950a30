// Files that are named after what users called something.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::cli {

/// A name that file systems take, with room for an extension: slashes become underscores, and the
/// rest of a name of more than 200 bytes its digest.
std::string file_name_of(std::string_view name);

}  // namespace flor::cli
