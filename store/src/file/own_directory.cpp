#include "file/own_directory.h"

#include <flor/store/error.h>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace flor::store {

std::filesystem::path own_temporary_directory(const std::string& name) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / name;
  struct stat found = {};
  if ((::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(path.c_str(), &found) != 0) {
    throw Error(fmt::format("cannot make the directory {}: {}: set TMPDIR to where you may write",
                            path.string(), std::generic_category().message(errno)));
  }
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid()) {
    throw Error(fmt::format(
        "{} is no directory of yours: remove it, or set TMPDIR to another place", path.string()));
  }
  if ((found.st_mode & 077) != 0 && ::chmod(path.c_str(), 0700) != 0) {
    throw Error(fmt::format("cannot keep others out of {}: {}", path.string(),
                            std::generic_category().message(errno)));
  }
  return path;
}

}  // namespace flor::store
