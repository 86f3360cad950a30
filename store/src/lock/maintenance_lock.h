// The lock that keeps garbage collection and repair apart, and helpers of both.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"

#include <filesystem>
#include <memory>
#include <string>

namespace flor::store {

/// Held as long as the object exists; the kernel releases it if the process dies.
class MaintenanceLock {
 public:
  /// Throws Busy if another process holds it.
  explicit MaintenanceLock(const Database& database);

 private:
  File file_;
};

/// Locks a pack's file for repair or garbage collection. The pack's writer holds this lock while it
/// lives. Returns null if another process holds the lock, or if there is no such file.
std::unique_ptr<File> own_pack(const Database& database, const std::filesystem::path& path);

/// Returns why locks of the home do not work between machines, as far as the mount options tell;
/// empty if they seem to work. If they do not, another machine may be writing a file that is not
/// locked.
std::string why_locks_are_local(const Database& database);

/// True if the file was written within the last day.
bool is_recent(const std::filesystem::path& file);

}  // namespace flor::store
