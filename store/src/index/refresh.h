// Brings the index up to date with the journals, and makes it again where it is gone or damaged.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"
#include "file/own_directory.h"
#include "file/paths.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Inside a transaction of the caller: the index has all that this journal says up to there.
void put_position(Connection& connection, std::int64_t run, std::int64_t writer,
                  JournalPosition position, std::int64_t last_us);

/// Up to where the index has the journal.
JournalPosition position_of(Connection& connection, std::string_view run, std::int64_t writer);

/// The first event of a journal of this process.
WriterEvent this_writer(std::string_view run, std::int64_t number);

/// Of the first event of the run that can be read: runs are in the order of these. 0 if there is
/// none.
std::int64_t began_at(const Database& database, const std::string& key);

/// True if some journal says more than the index has. Some microseconds, and some more for each
/// journal whose writer has not been seen to have ended.
bool is_behind(Database& database);

/// The line for a directory of runs that cannot be listed.
std::string cannot_list(const std::filesystem::path& directory);

/// True if the journal that failed so may be readable later: it is missing, locked away or no file.
bool may_be_readable_later(const Error& error);

/// What became of journals that were read.
struct RefreshReport {
  std::int64_t runs = 0, events = 0;
  std::vector<std::string> damage;  ///< a line for each that was met, with what it cost
  std::set<std::string> unread;     ///< keys of runs with journals that may be readable later
  bool is_entered = true;           ///< the index could be written
  bool is_whole = true;             ///< no directory of runs is left out that may be readable later
  std::set<std::string> dropped;    ///< keys of runs that were removed, and still have a directory
};

/// Is told how many of how many runs were read.
using OnRuns = std::function<void(std::size_t done, std::size_t all)>;

/// Inside a transaction of the caller: enters what the journals of these runs say and the index
/// lacks.
void enter_runs(Database& database, std::vector<std::string> keys, RefreshReport& report,
                const OnRuns& on_runs = {});

/// Inside a transaction of the caller: enters what journals say and the index lacks.
void enter_behind(Database& database);
void enter_behind(Database& database, std::vector<std::string> keys);

/// Enters all that journals, and logs of evaluations, say and the index lacks. One transaction.
RefreshReport refresh(Database& database);

/// The same for a process that only looks, where that is possible at once: else the report says in
/// a line why what it shows is older.
RefreshReport refresh_if_possible(const Paths& paths, Filesystem& filesystem);

/// `refresh`, if journals say more than the index has. False if the index cannot be written now: it
/// stays as it is. Within a transaction nothing is done, and the result is true.
bool follow(Database& database);

/// Before results of evaluations are read: others may have logged some since the store was opened.
/// The index stays as it is where it cannot be written now, and within a transaction.
void follow_evaluations(Database& database);

/// Makes the index of a home from its journals and packs, whatever there is, and puts it in the
/// place of the present one, which stays as catalog.db.old until the next time. Processes that have
/// that one open go on with it, and what they say reaches the new one through their journals.
///
RefreshReport rebuild(const Paths& paths, Filesystem& filesystem);

/// Held while the index or the queue is made again, so that no process moves records by the old
/// index. Throws Busy while another process does so for longer than a minute.
class RemakingLock {
 public:
  /// `what`: "catalog".
  RemakingLock(Filesystem& filesystem, const Paths& paths, const char* what);

 private:
  File file_;
};

/// An index that is made from the journals and packs of a home that cannot take one, and goes with
/// this object: in the directory for temporary files, or, where that has no room either, in memory.
class IndexElsewhere {
 public:
  IndexElsewhere(const Paths& paths, Filesystem& filesystem);
  /// Of the home, but for its index.
  const Paths& paths() const { return paths_; }
  const RefreshReport& report() const { return report_; }

 private:
  std::optional<WorkDirectory> work_;
  Paths paths_;
  RefreshReport report_;
};

/// Before a store is opened: makes its index again if that is missing, damaged or of an older form,
/// and says so in a line on standard error. Where the home cannot take it, what only looks is given
/// one elsewhere.
std::unique_ptr<IndexElsewhere> require_index(const Paths& paths, OpenMode mode,
                                              Filesystem& filesystem);

/// With RemakingLock held: no process trusts the present index any more, which becomes
/// catalog.db.old. False, and nothing is done, if it is sound.
bool put_index_aside(const Paths& paths);

}  // namespace flor::store
