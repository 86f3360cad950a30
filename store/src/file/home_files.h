// Files and directories of a store's home, which are for its user alone unless the user shares it.
#pragma once

#include <filesystem>
#include <system_error>

namespace flor::store {

/// Makes a home that is not there: only its user may enter it, whatever the umask is.
void make_home(const std::filesystem::path& home, std::error_code& error);

/// Makes a directory, and those above it as far as they are missing. Only this user may enter it,
/// whatever the umask says and the mode of the one above it.
void make_private_directory(const std::filesystem::path& directory, std::error_code& error);

/// Makes a directory in a home, and those above it as far as they are missing. It is for those who
/// may enter the one above it.
void make_directory_in_home(const std::filesystem::path& directory, std::error_code& error);

/// The same; throws Error with what to do.
void require_directory_in_home(const std::filesystem::path& directory);

/// As ::open with O_CLOEXEC. A file that it creates is for those who may enter its directory: of
/// mode 0600 in one of 0700, of 0660 in one of 2770, whatever the umask is.
int open_in_home(const std::filesystem::path& file, int flags);

/// Gives a file of mode 0600 that was just created the mode that `open_in_home` gives.
void share_as_directory(int descriptor, const std::filesystem::path& file);

}  // namespace flor::store
