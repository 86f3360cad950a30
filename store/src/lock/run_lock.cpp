// Implements the lock of a run: an flock on locks/<key>.lock.
#include "database/database.h"
#include "database/store_impl.h"
#include "file/home_files.h"
#include "file/lock_file.h"

#include <flor/store/store.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace flor::store {
namespace {

using std::chrono::milliseconds;

/// How often, and with which pause, locking is tried: processes that ask whether the run lives hold
/// a shared lock for a moment, which must not prevent the run from starting.
constexpr int kLockTries = 50;
constexpr milliseconds kLockPause{5};

bool try_lock(int descriptor, int operation) { return lock_file(descriptor, operation | LOCK_NB); }

}  // namespace

RunLock::RunLock(RunLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

RunLock::~RunLock() {
  if (descriptor_ < 0) return;
  // Deleted while it is locked: a process that locks the deleted file then notices it
  // (`is_linked`).
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

void RunLock::forget_in_child() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

std::optional<RunLock> Store::lock_run(std::string_view key) {
  const std::filesystem::path path = impl_->database->paths.lock(key);
  require_directory_in_home(path.parent_path());  // a copied store may lack the directory
  for (int i = 0; i < kLockTries; ++i) {
    const int descriptor = open_in_home(path, O_RDWR | O_CREAT);
    if (descriptor < 0) throw_system_error("create the lock", path, errno);
    const bool locked = try_lock(descriptor, LOCK_EX);
    if (locked && is_linked(descriptor)) return RunLock(descriptor, path.string());
    ::close(descriptor);
    if (!locked) std::this_thread::sleep_for(kLockPause);
  }
  return std::nullopt;
}

bool Store::is_being_recorded(std::string_view key) const {
  return is_locked(*impl_->database, key);
}

bool is_locked(const OpenFile& database, std::string_view key) {
  const std::filesystem::path path = database.paths.lock(key);
  const int descriptor = database.files.open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const bool free = try_lock(descriptor, LOCK_SH);
  ::close(descriptor);
  return !free;
}

}  // namespace flor::store
