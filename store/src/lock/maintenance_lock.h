// Shared by collecting and repairing: the lock that keeps them apart, and the test for free packs.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"

#include <filesystem>
#include <memory>
#include <string>

namespace flor::store {

/// Held for as long as the object lives; the kernel releases it when the process dies.
class MaintenanceLock {
 public:
  /// Throws Busy if another process has it.
  explicit MaintenanceLock(const Database& database);

 private:
  File file_;
};

/// Locks the pack's file, so that no process takes its writer for alive or writes it; null while
/// its writer lives, or if there is no such file.
std::unique_ptr<File> own_pack(const Database& database, const std::filesystem::path& path);

/// The reason why the locks of the home do not reach other machines, as far as its mount tells;
/// empty if they seem to. If they do not, another machine may be writing a file that is not locked.
std::string why_locks_are_local(const Database& database);

/// True if the file was written within the last day.
bool is_recent(const std::filesystem::path& file);

}  // namespace flor::store
