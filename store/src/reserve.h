// A file that takes some space of the disk, so that what gives space back has some when nothing is
// left.
#pragma once

#include "database.h"
#include "filesystem.h"
#include "paths.h"
#include "system_error.h"

#include <cstdint>
#include <exception>

namespace flor::store {

/// Enough for some hundred pages of the write-ahead log and its index.
inline constexpr std::uint64_t kReserveBytes = std::uint64_t{1} << 20;

/// Makes it where it is missing and there is room to spare. Never fails.
void make_reserve(const Paths& paths, Filesystem& files) noexcept;
/// False: there was none.
bool give_up_reserve(const Paths& paths, Filesystem& files) noexcept;

/// Calls `body`, which can be done again, a second time with the reserve if the disk is full. Makes
/// the reserve again if it can.
template <typename Body>
auto with_reserve(Database& database, const Body& body) {
  struct Renewal {
    ~Renewal() { make_reserve(database.paths, database.files); }
    const Database& database;
  } const renewal{database};
  try {
    return body();
  } catch (const std::exception& error) {
    if (!is_no_space(error) || !give_up_reserve(database.paths, database.files)) throw;
  }
  {
    const std::lock_guard lock(database.mutex);
    database.connection.truncate_log();
  }
  return body();
}

}  // namespace flor::store
