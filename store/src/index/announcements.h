// Announcements of journals that are no longer needed: the index knows those journals.
#pragma once

#include "database/database.h"
#include "journal/run_journal.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// True if the index has a position in the journal of that writer.
bool has_position(Connection& connection, std::string_view run, std::int64_t writer);

/// Announcements of journals that the index may lack. Those of a shared home stay for the indexes
/// of other machines, so each remembers which it needs no more.
std::vector<Announcement> waiting_announcements(Database& database);
/// Remembers that, inside the transaction of a caller who has read the journals since they were
/// found waiting: of those that it has a position in. Not for `unread` runs.
void note_served(Database& database, const std::vector<Announcement>& waiting,
                 const std::set<std::string>& unread);

/// Announcements of a run whose journals were read just now; to be removed when the transaction of
/// the caller is committed. None while a process writes a journal without a position: if it were
/// killed before the index has its first events, they would never be found.
std::vector<std::filesystem::path> served_announcements(Database& database, std::string_view run);

/// Removes leftovers of killed processes and failing disks below `runs`: announcements of journals
/// that the index knows, journals without an event, and directories without a journal. Those
/// younger than an hour stay: a process may be about to write there. In a shared home, call it
/// after `renew_mark`: other indexes then are made again, and need no announcement. Throws Error if
/// the index cannot be read or written.
void remove_debris(Database& database);

}  // namespace flor::store
