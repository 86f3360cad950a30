#include "file/filesystem.h"
#include "file/home_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnFile = 0600, kOwnDirectory = 0700;

bool make_directory(const fs::path& directory, std::error_code& error) {
  if (::mkdir(directory.c_str(), kOwnDirectory) == 0) {
    // The umask may exclude even the user itself.
    if (::chmod(directory.c_str(), kOwnDirectory) == 0) return true;
    error = std::error_code(errno, std::generic_category());
    return false;
  }
  const int code = errno;
  if (code != EEXIST || !fs::is_directory(directory, error)) {
    error = std::error_code(code, std::generic_category());
  }
  return false;
}

/// Returns the mode of the directory that contains `path`; that of a private one if it cannot be
/// read.
mode_t mode_above(const fs::path& path) {
  const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
  struct stat status{};
  return ::stat(above.c_str(), &status) == 0 ? status.st_mode : kOwnDirectory;
}

/// Returns the access that a directory with mode `above` passes on to files in it. Write access is
/// passed on only to a group that shares the directory on purpose (setgid and group-writable),
/// because a user who can write to a store can forge it.
mode_t shared_with(mode_t above) {
  constexpr mode_t kGroupShares = S_ISGID | S_IWGRP;
  return (above & 02755) | ((above & kGroupShares) == kGroupShares ? mode_t{S_IWGRP} : mode_t{0});
}

/// Makes missing parents with the mode that the umask gives, but always accessible to this user and
/// writable by no other.
void make_above(const fs::path& directory, std::error_code& error) {
  if (directory.empty() || fs::is_directory(directory, error)) return;
  error.clear();
  make_above(directory.parent_path(), error);
  if (error) return;
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    error = std::error_code(errno, std::generic_category());
  }
  struct stat status{};
  if (error || ::stat(directory.c_str(), &status) != 0) return;
  if ((status.st_mode & kOwnDirectory) == kOwnDirectory) return;
  ::chmod(directory.c_str(), (status.st_mode & 07777) | kOwnDirectory);
}

}  // namespace

void make_private_directory(const fs::path& directory, std::error_code& error) {
  error.clear();
  const fs::path place = directory.has_filename() ? directory : directory.parent_path();
  make_above(place.parent_path(), error);
  if (!error) make_directory(place, error);
}

void make_home(const fs::path& home, std::error_code& error) {
  make_private_directory(home, error);
}

void make_directory_in_home(const fs::path& directory, std::error_code& error) {
  error.clear();
  if (fs::is_directory(directory, error)) return;
  error.clear();
  if (directory.has_parent_path() && !fs::exists(directory.parent_path(), error)) {
    make_directory_in_home(directory.parent_path(), error);
  }
  if (error || !make_directory(directory, error)) return;
  const mode_t mode = shared_with(mode_above(directory));
  if ((mode | kOwnDirectory) != kOwnDirectory) ::chmod(directory.c_str(), mode | kOwnDirectory);
}

void require_directory_in_home(const fs::path& directory) {
  std::error_code error;
  make_directory_in_home(directory, error);
  if (error) throw_system_error("make the directory", directory, error.value());
}

void for_each_pack(const Paths& paths, const std::function<void(const fs::path&)>& body) {
  std::error_code error;
  for (fs::directory_iterator above(paths.packs(), error), end; !error && above != end;
       above.increment(error)) {
    std::error_code not_read;
    for (fs::directory_iterator pack(above->path(), not_read); !not_read && pack != end;
         pack.increment(not_read)) {
      if (pack->path() == paths.pack(pack->path().stem().string()) &&
          Paths::is_pack(pack->path())) {
        body(pack->path());
      }
    }
  }
}

int open_in_home(const fs::path& file, int flags) {
  const int descriptor = Filesystem::system().open(file.c_str(), flags | O_CLOEXEC, kOwnFile);
  if (descriptor >= 0 && (flags & O_CREAT) != 0) share_as_directory(descriptor, file);
  return descriptor;
}

void share_as_directory(int descriptor, const fs::path& file) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || status.st_uid != ::geteuid()) return;
  const mode_t wanted = (shared_with(mode_above(file)) & 0666) | kOwnFile;
  const bool ours = (status.st_mode & 0777 & ~kOwnFile) == 0 && status.st_size == 0;
  if (ours && wanted != (status.st_mode & 0777)) ::fchmod(descriptor, wanted);
}

}  // namespace flor::store
