// Brings the index up to date with the journals, and rebuilds it if it is gone or damaged.
#pragma once

#include "database/database.h"
#include "file/filesystem.h"
#include "file/own_directory.h"
#include "file/paths.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Notes that the index has this journal up to the position. Inside a transaction of the caller.
void put_position(Connection& connection, std::int64_t run, std::int64_t writer,
                  JournalPosition position, std::int64_t last_us);

/// A journal as the index knows it.
struct KnownJournal {
  JournalPosition end;       ///< of the part that is entered
  std::int64_t last_us = 0;  ///< the time of its last event
  std::int64_t closed = 0;   ///< not 0: its writer was seen to have ended
};
/// By the numbers of the writers.
using KnownJournals = std::map<std::int64_t, KnownJournal>;
KnownJournals known_journals(Database& database, std::string_view run);

/// The position up to which the index has the journal.
JournalPosition position_of(Connection& connection, std::string_view run, std::int64_t writer);

/// The first event of a journal of this process.
WriterEvent this_writer(std::string_view run, std::int64_t number);

/// Time of the first readable event of the run, by which runs are ordered. 0 if there is none.
std::int64_t began_at(const Database& database, const std::string& key);

/// True if a journal has events that the index lacks. Takes some microseconds, and some more for
/// each journal that is not closed.
bool is_behind(Database& database);

/// Closes journals of which the index has all, and whose writers have ended, so that they are not
/// read again; not those of `unread` runs. Inside a transaction of the caller.
void close_ended_journals(Database& database, const std::set<std::string>& unread);

/// The line for a directory of runs that cannot be listed.
std::string cannot_list(const std::filesystem::path& directory);

/// True if a journal that failed with this error may be readable later: it is missing, inaccessible
/// or no file.
bool may_be_readable_later(const Error& error);

/// The outcome of reading journals.
struct RefreshReport {
  std::int64_t runs = 0, events = 0;
  std::vector<std::string> damage;  ///< a line for each one found, with its cost
  std::set<std::string> unread;     ///< keys of runs with journals that may be readable later
  bool is_entered = true;           ///< the index could be written
  bool is_whole = true;             ///< no directory of runs that may be readable later was skipped
  std::set<std::string> dropped;    ///< keys of runs that were removed, and still have a directory
};

/// Called with the number of runs read so far, and the number of all.
using OnRuns = std::function<void(std::size_t done, std::size_t all)>;

/// Enters events of these runs' journals that the index lacks. Inside a transaction of the caller.
void enter_runs(Database& database, std::vector<std::string> keys, RefreshReport& report,
                const OnRuns& on_runs = {});

/// Enters events of journals that the index lacks. Inside a transaction of the caller.
void enter_behind(Database& database);
void enter_behind(Database& database, std::vector<std::string> keys);

/// Enters all events of journals and logs of evaluations that the index lacks, in one transaction.
RefreshReport refresh(Database& database);

/// The same for a process that only reads, if that is possible at once; otherwise a line of the
/// report says why the index is older.
RefreshReport refresh_if_possible(const Paths& paths, Filesystem& filesystem);

/// Calls `refresh` if journals have events that the index lacks. False if the index cannot be
/// written now, and stays as it is. Within a transaction does nothing and returns true.
bool follow(Database& database);

/// The same where other machines have indexes of their own. Elsewhere, the index has what processes
/// have entered that do not record at that moment.
void follow_others(Database& database);

/// Enters new results of evaluations, before results are read: other processes may have logged some
/// since the store was opened. Leaves the index alone if it cannot be written now, and within a
/// transaction.
void follow_evaluations(Database& database);

/// Makes the index of a home from its journals and packs, and replaces any present one, which stays
/// as catalog.db.old until the next time. Processes that have the old one open keep it; their
/// events reach the new one through their journals.
RefreshReport rebuild(const Paths& paths, Filesystem& filesystem);

/// Held while the index or the queue is rebuilt, so that no process moves records according to the
/// old index. Throws Busy if other processes hold it for longer than the patience.
class RemakingLock {
 public:
  /// `what`: "catalog".
  RemakingLock(Filesystem& filesystem, const Paths& paths, const char* what,
               std::chrono::seconds patience = std::chrono::seconds(60));

 private:
  std::vector<std::unique_ptr<File>> files_;
};

/// An index made from the journals and packs of a home that cannot take one; removed with this
/// object. It lies in the directory for temporary files, or, if that has no room either, in memory.
class IndexElsewhere {
 public:
  IndexElsewhere(const Paths& paths, Filesystem& filesystem);
  /// Paths of the home, except for the index.
  const Paths& paths() const { return paths_; }
  const RefreshReport& report() const { return report_; }

 private:
  std::optional<WorkDirectory> work_;
  Paths paths_;
  RefreshReport report_;
};

/// Rebuilds the index of a store that is about to be opened, if it is missing, damaged or of an
/// older form, and says so on standard error. If the home cannot take it, makes one elsewhere for
/// callers that only read. The index of a shared home is also made if it is outdated, and elsewhere
/// for all callers; `no_place`: why it has no place on this machine, empty if it has.
std::unique_ptr<IndexElsewhere> require_index(const Paths& paths, OpenMode mode,
                                              Filesystem& filesystem,
                                              const std::string& no_place = {});

/// Moves the present index to catalog.db.old, so that no process trusts it any more; returns false,
/// and leaves it, if it is sound. Call it with RemakingLock held.
bool put_index_aside(const Paths& paths);

}  // namespace flor::store
