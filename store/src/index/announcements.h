// Handles announcements of journals (journal/run_journal.h) that the index knows by now.
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

/// True if the index has read this writer's journal up to some position.
bool has_position(Connection& connection, std::string_view run, std::int64_t writer);

/// Returns announcements of journals that the index may lack. On a shared home announcement files
/// stay for the indexes of other machines, so each index remembers which ones it has processed.
std::vector<Announcement> waiting_announcements(Database& database);
/// Remembers as processed those of the announcements `waiting` whose journals the index has a
/// position in, except those of `unread` runs. Call it inside a transaction, after reading the
/// journals.
void note_served(Database& database, const std::vector<Announcement>& waiting,
                 const std::set<std::string>& unread);

/// Returns announcements of a run whose journals were just read. Remove them after the caller's
/// transaction is committed. Returns none while a process writes a journal in which the index has
/// no position: if it were killed now, its first events would never be found.
std::vector<std::filesystem::path> served_announcements(Database& database, std::string_view run);

/// Removes what killed processes and failed disks have left below `runs`: announcements of journals
/// that the index knows, journals without an event, and directories without a journal. Leftovers
/// younger than an hour stay, because a process may be about to write there. On a shared home call
/// it after `renew_mark`, so that other indexes are rebuilt and do not need the announcements.
/// Throws Error if the index cannot be read or written.
void remove_debris(Database& database);

}  // namespace flor::store
