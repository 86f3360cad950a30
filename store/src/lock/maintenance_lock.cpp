#include "lock/maintenance_lock.h"

#include "file/file_age.h"
#include "file/lock_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

#include <chrono>
#include <system_error>

namespace flor::store {
namespace {

bool try_lock(const File& file) { return lock_file(file.descriptor(), LOCK_EX | LOCK_NB); }

}  // namespace

MaintenanceLock::MaintenanceLock(const Database& database)
    : file_(database.files, database.paths.maintenance_lock(), O_RDWR | O_CREAT, kInHome) {
  if (!try_lock(file_)) {
    throw Busy(fmt::format("another process collects garbage in {} or repairs it: wait for it",
                           database.paths.home.string()));
  }
}

std::unique_ptr<File> own_pack(const Database& database, const std::filesystem::path& path) {
  // On NFS only a file that is open for writing can be locked; elsewhere reading is enough.
  for (const int mode : {O_RDWR, O_RDONLY}) {
    try {
      auto file = std::make_unique<File>(database.files, path, mode);
      return try_lock(*file) ? std::move(file) : nullptr;
    } catch (const Error&) {
      continue;
    }
  }
  return nullptr;
}

std::string why_locks_are_local(const Database& database) {
  return database.files.why_locks_are_local(database.paths.home.c_str());
}

bool is_recent(const std::filesystem::path& file) {
  return !was_changed_before(file, file_time_ago(std::chrono::hours(24)));
}

}  // namespace flor::store
