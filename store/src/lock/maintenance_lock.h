// What collecting and repairing share: the lock that keeps them apart, and whether a pack is free.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"

#include <filesystem>
#include <memory>

namespace flor::store {

/// Held for as long as the object lives; the kernel releases it when the process dies.
class MaintenanceLock {
 public:
  /// Throws Busy if another process has it.
  explicit MaintenanceLock(const Database& database);

 private:
  File file_;
};

/// The pack's file, locked, so that nobody takes its writer for alive or writes it; nothing while
/// its writer lives, or where there is no such file.
std::unique_ptr<File> own_pack(const Database& database, const std::filesystem::path& path);

}  // namespace flor::store
