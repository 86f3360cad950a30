// Files and directories in a store's home. They are private to the user unless the user has given
// others access to the home.
#pragma once

#include "file/paths.h"

#include <filesystem>
#include <functional>
#include <system_error>

namespace flor::store {

/// Makes the home if it is missing. Only its user may enter it, whatever the umask is.
void make_home(const std::filesystem::path& home, std::error_code& error);

/// Makes a directory and missing parents. Only this user may enter it, whatever the umask and the
/// mode of the parent are.
void make_private_directory(const std::filesystem::path& directory, std::error_code& error);

/// Makes a directory in a home, and missing parents. Users who may enter its parent may enter it.
void make_directory_in_home(const std::filesystem::path& directory, std::error_code& error);

/// Makes a directory like `make_directory_in_home`. Throws an Error with a remedy if that fails.
void require_directory_in_home(const std::filesystem::path& directory);

/// Calls `body` with the path of each file that has the name of a pack, directory by directory.
/// Skips unreadable directories; a file may be gone by the time of the call.
void for_each_pack(const Paths& paths,
                   const std::function<void(const std::filesystem::path&)>& body);

/// Like ::open with O_CLOEXEC. Users who may enter the directory may access a new file, whatever
/// the umask is: it gets mode 0600 in a directory of mode 0700, and 0660 in one of mode 2770.
int open_in_home(const std::filesystem::path& file, int flags);

/// Gives a new file of mode 0600 the mode that `open_in_home` would have given it.
void share_as_directory(int descriptor, const std::filesystem::path& file);

}  // namespace flor::store
