// Brings the index up to date with the journals, and makes it again where it is gone or damaged.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"
#include "file/paths.h"
#include "journal/run_journal.h"

#include <flor/store/store.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Inside a transaction of the caller: the index has all that this journal says up to there.
void put_position(Connection& connection, std::int64_t run, std::int64_t writer,
                  JournalPosition position, std::int64_t last_us);

/// The first event of a journal of this process.
WriterEvent this_writer(std::string_view run, std::int64_t number);

/// True if some journal says more than the index has. Some microseconds, and some more for each
/// journal whose writer has not been seen to have ended.
bool is_behind(Database& database);

/// What became of journals that were read.
struct RefreshReport {
  std::int64_t runs = 0, events = 0;
  std::vector<std::string> damage;  ///< a line for each that was met, with what it cost
  std::set<std::string> unread;     ///< keys of runs with journals that may be readable later
  std::set<std::string> dropped;    ///< keys of runs that were removed, and still have a directory
};

/// Inside a transaction of the caller: enters what the journals of these runs say and the index
/// lacks.
void enter_runs(Database& database, std::vector<std::string> keys, RefreshReport& report);

/// Enters all that journals say and the index lacks. One transaction.
RefreshReport refresh(Database& database);

/// Makes the index of a home from its journals and packs, whatever there is, and puts it in the
/// place of the present one, which stays as catalog.db.old until the next time. Processes that have
/// that one open go on with it, and what they say reaches the new one through their journals.
/// Throws Busy while another process does the same for longer than a minute.
RefreshReport rebuild(const Paths& paths, Filesystem& filesystem);

/// Before a store is opened: makes its index again if that is missing, damaged or of an older form,
/// and says so in a line on standard error.
void require_index(const Paths& paths, OpenMode mode, Filesystem& filesystem);

}  // namespace flor::store
