// Which announcements of journals have served: the index knows the journals that they tell of.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace flor::store {

/// True if the index has a position in the journal of that writer.
bool has_position(Connection& connection, std::string_view run, std::int64_t writer);

/// Announcements of a run whose journals were read just now; to be removed when the transaction of
/// the caller is committed. None while a process writes a journal without a position: what it says
/// first would be looked for in vain if it is killed before the index has that, too.
std::vector<std::filesystem::path> served_announcements(Database& database, std::string_view run);

/// Removes what killed processes and failing disks left below `runs`: announcements of journals
/// that the index knows, journals without an event, and directories without a journal. What is
/// younger than an hour stays, for a process may be about to write there. Throws Error where the
/// index does not answer.
void remove_debris(Database& database);

}  // namespace flor::store
