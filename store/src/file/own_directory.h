// Directories in a place where every user of the machine may make files.
#pragma once

#include <filesystem>
#include <string>

namespace flor::store {

/// The directory of this name below the one for temporary files, which this user alone can enter;
/// made if it is not there. Throws Error where what has that name is no directory, a link, or
/// another user's: it may have been put there to lead elsewhere.
std::filesystem::path own_temporary_directory(const std::string& name);

}  // namespace flor::store
