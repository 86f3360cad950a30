// Names of files after names that users chose.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flor::cli {

/// A name that file systems accept, with room for an extension: slashes become underscores, and a
/// name of more than 200 bytes is cut there and its digest added.
std::string file_name_of(std::string_view name);

}  // namespace flor::cli
