#include "file/own_directory.h"

#include "file/lock_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

int lock_directory(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (lock_file(descriptor, LOCK_EX | LOCK_NB) && is_linked(descriptor)) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

fs::path own_temporary_directory(const std::string& name, fs::path place) {
  const fs::path path = (place.empty() ? fs::temp_directory_path() : std::move(place)) / name;
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

WorkDirectory::WorkDirectory(std::string_view purpose, const fs::path& place) {
  const fs::path parent =
      own_temporary_directory(fmt::format("flor-{}-{}", purpose, ::geteuid()), place);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const int descriptor = lock_directory(entry.path());
    if (descriptor < 0) continue;
    fs::remove_all(entry.path(), ignored);
    ::close(descriptor);
  }
  // Until the directory is locked, another process may take it for a leftover and remove it.
  while (lock_ < 0) {
    std::string name = (parent / "XXXXXX").string();
    if (!::mkdtemp(name.data())) {
      throw Error(fmt::format("cannot make a directory in {}: {}", parent.string(),
                              std::generic_category().message(errno)));
    }
    path_ = name;
    lock_ = lock_directory(path_);
  }
}

WorkDirectory::~WorkDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace flor::store
