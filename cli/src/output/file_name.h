// Turns names that users chose into names of files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::cli {

/// A file name for `name`, with room for an extension: slashes become underscores, and a name of
/// more than 200 bytes is cut and its digest appended.
std::string file_name_of(std::string_view name);

}  // namespace flor::cli
