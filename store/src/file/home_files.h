// Files and directories of a store's home: private to its user unless the user shares the home.
#pragma once

#include "file/paths.h"

#include <filesystem>
#include <functional>
#include <system_error>

namespace flor::store {

/// Makes a missing home: only its user may enter it, whatever the umask is.
void make_home(const std::filesystem::path& home, std::error_code& error);

/// Makes a directory, and missing ones above it. Only this user may enter it, whatever the umask
/// and the mode of the directory above.
void make_private_directory(const std::filesystem::path& directory, std::error_code& error);

/// Makes a directory in a home, and missing ones above it. Users who may enter the directory above
/// it may enter it, too.
void make_directory_in_home(const std::filesystem::path& directory, std::error_code& error);

/// The same, but throws an Error with a remedy.
void require_directory_in_home(const std::filesystem::path& directory);

/// Calls `body` with the path of each file that has the name of a pack, directory by directory.
/// Skips unreadable directories; a file may be gone by the time of the call.
void for_each_pack(const Paths& paths,
                   const std::function<void(const std::filesystem::path&)>& body);

/// As ::open with O_CLOEXEC. A new file is accessible to users who may enter its directory: its
/// mode is 0600 in one of mode 0700, 0660 in one of 2770, whatever the umask is.
int open_in_home(const std::filesystem::path& file, int flags);

/// Gives a new file of mode 0600 the mode that `open_in_home` would have given it.
void share_as_directory(int descriptor, const std::filesystem::path& file);

}  // namespace flor::store
