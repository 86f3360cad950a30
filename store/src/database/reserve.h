// A file that reserves some disk space, so that commands that free space can work on a full disk.
#pragma once

#include "base/system_error.h"
#include "database/database.h"
#include "file/filesystem.h"
#include "file/paths.h"

#include <cstdint>
#include <exception>

namespace flor::store {

/// Enough for a few hundred pages of the write-ahead log and its index.
inline constexpr std::uint64_t kReserveBytes = std::uint64_t{1} << 20;

/// Makes the reserve file if it is missing or has another size, and twice its size is free. Never
/// fails.
void make_reserve(const Paths& paths, Filesystem& files) noexcept;
/// Removes the reserve file. Returns false if there was none.
bool give_up_reserve(const Paths& paths, Filesystem& files) noexcept;

/// Throws an Error that says that a command that frees space has no space to work in.
[[noreturn]] void throw_disk_is_full(const Paths& paths);

/// Calls `body`. If the disk is full, deletes the reserve file and calls `body` again, so it must
/// be repeatable. Afterwards makes the reserve file again if possible.
template <typename Body>
auto with_reserve(Database& database, const Body& body) {
  struct Renewal {
    ~Renewal() { make_reserve(database.paths, database.files); }
    const Database& database;
  } const renewal{database};
  try {
    return body();
  } catch (const std::exception& error) {
    if (!is_no_space(error)) throw;
    if (!give_up_reserve(database.paths, database.files)) throw_disk_is_full(database.paths);
  }
  {
    const std::lock_guard lock(database.mutex);
    database.connection.truncate_log();
  }
  try {
    return body();
  } catch (const std::exception& error) {
    if (!is_no_space(error)) throw;
    throw_disk_is_full(database.paths);
  }
}

}  // namespace flor::store
