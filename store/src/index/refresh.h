// Updates the index from the journals, and rebuilds it if it is missing or damaged.
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

/// The state of a journal as the index knows it.
struct KnownJournal {
  JournalPosition end;       ///< end of the part that was entered
  std::int64_t last_us = 0;  ///< time of its last event, Unix microseconds
  std::int64_t closed = 0;   ///< not 0: its writer has ended and all of it was entered
};
/// Keyed by the numbers of the writers.
using KnownJournals = std::map<std::int64_t, KnownJournal>;
KnownJournals known_journals(Database& database, std::string_view run);

/// Returns the position up to which the index has the journal.
JournalPosition position_of(Connection& connection, std::string_view run, std::int64_t writer);

/// Returns the first event of a journal that this process writes.
WriterEvent this_writer(std::string_view run, std::int64_t number);

/// Returns the time of the first readable event of the run, by which runs are ordered; 0 if there
/// is none.
std::int64_t began_at(const Database& database, const std::string& key);

/// True if a journal has events that the index lacks. Takes some microseconds, plus some for each
/// journal that is not closed.
bool is_behind(Database& database);

/// Closes journals that were entered completely and whose writers have ended, so that they are not
/// looked at again. Skips `unread` runs. Inside a transaction of the caller.
void close_ended_journals(Database& database, const std::set<std::string>& unread);

/// Returns the message for a directory of runs that cannot be listed.
std::string cannot_list(const std::filesystem::path& directory);

/// True if a journal that failed with this error may be readable later: it is missing, inaccessible
/// or not a file.
bool may_be_readable_later(const Error& error);

/// The result of reading journals.
struct RefreshReport {
  std::int64_t runs = 0, events = 0;
  std::vector<std::string> damage;  ///< a line for each damage found, with what it costs
  std::vector<std::string> lost;    ///< lines about content that no pack has (see judge_losses)
  std::set<std::string> unread;     ///< keys of runs with journals that could not be read but may
                                    ///< be readable later
  bool is_entered = true;           ///< false if the index could not be written
  bool is_whole = true;             ///< false if a directory of runs was skipped that may be
                                    ///< readable later
  std::set<std::string> dropped;    ///< keys of removed runs that still have a directory
};

/// Progress callback: number of runs read so far, and number of all runs.
using OnRuns = std::function<void(std::size_t done, std::size_t all)>;

/// Enters those events of these runs that the index lacks. Inside a transaction of the caller.
void enter_runs(Database& database, std::vector<std::string> keys, RefreshReport& report,
                const OnRuns& on_runs = {});

/// Decides about lines in `lost`. On a shared home another machine may just have moved the content:
/// then this index is outdated, and the next one says what is lost. If it is current, it is marked
/// as damaged, so that the next command makes it again while nothing moves. On other homes nothing
/// can move meanwhile, so that the lines are damage.
void judge_losses(Database& database, RefreshReport& report);

/// Enters events that the index lacks, of all runs or of the given ones. Inside a transaction of
/// the caller.
void enter_behind(Database& database);
void enter_behind(Database& database, std::vector<std::string> keys);

/// Enters all events of journals and evaluation logs that the index lacks, in one transaction.
RefreshReport refresh(Database& database);

/// Refreshes the index for a process that only reads, if that is possible without waiting.
/// Otherwise a line of the report says why the index is older.
RefreshReport refresh_if_possible(const Paths& paths, Filesystem& filesystem);

/// Calls `refresh` if journals have events that the index lacks. Returns false, and leaves the
/// index unchanged, if it cannot be written at the moment. Does nothing within a transaction, and
/// returns true.
bool follow(Database& database);

/// Calls `follow` on a shared home. On other homes it does nothing: there the index lacks only
/// events of processes that are recording.
void follow_others(Database& database);

/// Enters new results of evaluations; call it before reading results, because other processes may
/// have logged some since the store was opened. Does nothing if the index cannot be written at the
/// moment, or within a transaction.
void follow_evaluations(Database& database);

/// Builds the index of a home from its journals and packs. An existing index is replaced and stays
/// as catalog.db.old until the next rebuild. Processes that have the old index open keep using it;
/// their events reach the new one through their journals.
RefreshReport rebuild(const Paths& paths, Filesystem& filesystem);

/// A lock that is held while the index or the queue is rebuilt, so that no process moves records
/// according to the old index. Throws Busy if another process holds it for longer than `patience`.
class RemakingLock {
 public:
  /// `what`: name of the database in messages, "catalog".
  RemakingLock(Filesystem& filesystem, const Paths& paths, const char* what,
               std::chrono::seconds patience = std::chrono::seconds(60));

 private:
  std::vector<std::unique_ptr<File>> files_;
};

/// An index built from the journals and packs of a home that cannot hold one. It lies in the
/// directory for temporary files, or in memory if there is no room, and is removed with this
/// object.
class IndexElsewhere {
 public:
  IndexElsewhere(const Paths& paths, Filesystem& filesystem);
  /// The paths of the home, but with this index.
  const Paths& paths() const { return paths_; }
  const RefreshReport& report() const { return report_; }

 private:
  std::optional<WorkDirectory> work_;
  Paths paths_;
  RefreshReport report_;
};

/// Called before a store is opened: rebuilds its index if it is missing, damaged or of an older
/// form, and says so on standard error. If the home cannot hold it, builds one elsewhere for
/// callers that only read, and returns it. The index of a shared home is also rebuilt if it is
/// outdated, and elsewhere for all callers. `no_place`: why the index of a shared home has no place
/// on this machine; empty if it has.
std::unique_ptr<IndexElsewhere> require_index(const Paths& paths, OpenMode mode,
                                              Filesystem& filesystem,
                                              const std::string& no_place = {});

/// Moves the present index to catalog.db.old, so that no process trusts it. Returns false, and
/// leaves it, if it is sound. Call it while holding a RemakingLock.
bool put_index_aside(const Paths& paths);

}  // namespace flor::store
