#include "filesystem.h"

#include <flor/store/home_files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnFile = 0600, kOwnDirectory = 0700;

bool make_directory(const fs::path& directory, std::error_code& error) {
  if (::mkdir(directory.c_str(), kOwnDirectory) == 0) return true;
  const int code = errno;
  if (code != EEXIST || !fs::is_directory(directory, error)) {
    error = std::error_code(code, std::generic_category());
  }
  return false;
}

/// Of the directory that holds it; as of one that is private where that cannot be looked at.
mode_t mode_above(const fs::path& path) {
  const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
  struct stat status{};
  return ::stat(above.c_str(), &status) == 0 ? status.st_mode : kOwnDirectory;
}

}  // namespace

void make_home(const fs::path& home, std::error_code& error) {
  error.clear();
  const fs::path place = home.has_filename() ? home : home.parent_path();
  if (place.has_parent_path()) fs::create_directories(place.parent_path(), error);
  if (!error) make_directory(place, error);
}

void make_directory_in_home(const fs::path& directory, std::error_code& error) {
  error.clear();
  if (fs::is_directory(directory, error)) return;
  error.clear();
  if (directory.has_parent_path() && !fs::exists(directory.parent_path(), error)) {
    make_directory_in_home(directory.parent_path(), error);
  }
  if (error || !make_directory(directory, error)) return;
  const mode_t mode = mode_above(directory) & 02777;
  if ((mode | kOwnDirectory) != kOwnDirectory) ::chmod(directory.c_str(), mode | kOwnDirectory);
}

int open_in_home(const fs::path& file, int flags) {
  const int descriptor = Filesystem::system().open(file.c_str(), flags | O_CLOEXEC, kOwnFile);
  if (descriptor >= 0 && (flags & O_CREAT) != 0) share_as_directory(descriptor, file);
  return descriptor;
}

void share_as_directory(int descriptor, const fs::path& file) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || status.st_uid != ::geteuid()) return;
  const mode_t wanted = (mode_above(file) & 0666) | kOwnFile;
  const bool ours = (status.st_mode & 0777 & ~kOwnFile) == 0 && status.st_size == 0;
  if (ours && wanted != (status.st_mode & 0777)) ::fchmod(descriptor, wanted);
}

}  // namespace flor::store
