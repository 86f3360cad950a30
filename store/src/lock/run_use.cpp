// Implements the use of a run's checkpoints: a shared flock on locks/<key>.use.
#include "database/database.h"
#include "database/store_impl.h"
#include "file/home_files.h"
#include "file/lock_file.h"

#include <flor/store/store.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace flor::store {
RunUse::RunUse(RunUse&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

RunUse& RunUse::operator=(RunUse&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

RunUse::~RunUse() {
  if (descriptor_ < 0) return;
  // Only the last user can get the lock exclusively, and deletes the file.
  if (lock_file(descriptor_, LOCK_EX | LOCK_NB)) ::unlink(path_.c_str());
  ::close(descriptor_);
}

std::optional<RunUse> Store::use_run(std::string_view key) const {
  if (impl_->mode == OpenMode::read_only) return std::nullopt;
  const std::filesystem::path path = impl_->database->paths.use(key);
  require_directory_in_home(path.parent_path());  // a copied store may lack the directory
  for (;;) {
    const int descriptor = open_in_home(path, O_RDWR | O_CREAT);
    if (descriptor < 0) throw_system_error("create the lock", path, errno);
    // Waits; other processes hold the exclusive lock only for a moment.
    if (!lock_file(descriptor, LOCK_SH)) {
      const int error = errno;
      ::close(descriptor);
      throw_system_error("lock", path, error);
    }
    if (is_linked(descriptor)) return RunUse(descriptor, path.string());
    ::close(descriptor);
  }
}

bool is_used(const Database& database, std::string_view key) {
  const int descriptor = ::open(database.paths.use(key).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool free = lock_file(descriptor, LOCK_EX | LOCK_NB);
  ::close(descriptor);
  return !free;
}

}  // namespace flor::store
