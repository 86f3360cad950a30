#include "database/vfs/unlock_again.h"

#include "file/paths.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <mutex>
#include <vector>

namespace flor::store {
namespace {

using Control = int (*)(int, int, ...);

/// A lock whose release was refused. Identified by file, because an fcntl lock belongs to the
/// process and the file, not to a descriptor.
struct KeptLock {
  dev_t device;
  ino_t inode;
  struct flock range;
};

struct Unlocking {
  Control system = nullptr;
  std::atomic<bool> any = false;
  std::mutex mutex;  ///< guards `kept`; for one file SQLite serializes the calls itself
  std::vector<KeptLock> kept;
};

/// Returns the only instance, which is never destroyed: a thread may use a connection while others
/// end the process.
Unlocking& unlocking() {
  static auto& unlocking = *new Unlocking;
  return unlocking;
}

bool is_of_catalog(int descriptor) {
  std::error_code error;
  const auto file =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
  return file.filename().native().starts_with(Paths::kIndex);
}

/// Releases the kept locks of the file. Returns false if one still cannot be released.
bool give_back(int descriptor) {
  Unlocking& now = unlocking();
  struct stat status {};
  if (!now.any || ::fstat(descriptor, &status) != 0) return true;
  const std::lock_guard lock(now.mutex);
  const auto released = [&](KeptLock& each) {
    return each.device == status.st_dev && each.inode == status.st_ino &&
           now.system(descriptor, F_SETLK, &each.range) == 0;
  };
  now.kept.erase(std::remove_if(now.kept.begin(), now.kept.end(), released), now.kept.end());
  now.any = !now.kept.empty();
  return std::none_of(now.kept.begin(), now.kept.end(), [&](const KeptLock& each) {
    return each.device == status.st_dev && each.inode == status.st_ino;
  });
}

/// Keeps a refused release to repeat it later. Returns false if the file is not a catalog; SQLite
/// then handles the error itself.
bool remember(int descriptor, const struct flock& range) {
  const int error = errno;
  struct stat status {};
  const bool ours = is_of_catalog(descriptor) && ::fstat(descriptor, &status) == 0;
  if (ours) {
    Unlocking& now = unlocking();
    const std::lock_guard lock(now.mutex);
    now.kept.push_back({status.st_dev, status.st_ino, range});
    now.any = true;
  }
  errno = error;
  return ours;
}

/// The function that SQLite calls instead of fcntl.
int control(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const Control system = unlocking().system;
  if (command != F_SETLK) return system(descriptor, command, argument);
  const auto& range = *static_cast<const struct flock*>(argument);
  const bool all_given_back = give_back(descriptor);
  if (range.l_type == F_UNLCK) {
    const int result = system(descriptor, command, argument);
    return result != 0 && remember(descriptor, range) ? 0 : result;
  }
  return all_given_back ? system(descriptor, command, argument) : -1;
}

}  // namespace

void unlock_again(sqlite3_vfs& system) {
  if (system.iVersion < 3 || !system.xGetSystemCall || !system.xSetSystemCall) return;
  const auto present = system.xGetSystemCall(&system, "fcntl");
  if (!present) return;
  unlocking().system = reinterpret_cast<Control>(present);
  system.xSetSystemCall(&system, "fcntl", reinterpret_cast<sqlite3_syscall_ptr>(control));
}

}  // namespace flor::store
