// The open catalog of a store: its connection, its mutex, and what is remembered between calls.
#pragma once

#include "codec/decode_scratch.h"
#include "database/open_file.h"
#include "database/sqlite.h"
#include "file/filesystem.h"
#include "file/paths.h"
#include "journal/run_journal.h"

#include <flor/store/catalog.h>
#include <flor/store/store.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::store {

/// Counts values of a series that lie in rows and have not been packed into blocks
/// (values/series_blocks.h).
struct YoungRows {
  std::size_t count = 0;
  std::size_t enough = 0;  ///< packing is tried when `count` reaches this
};

/// A run whose events this process writes only to its journal (index/journal_writing.h).
struct SaidRun {
  std::string key;
  std::int64_t last_us = 0;  ///< time of the last event
  bool is_ahead = false;     ///< true if the journal has events that the index lacks
};

/// The index. If it `is_replaced` meanwhile, the new one is built from the journals, so no event is
/// lost that this process has written to a journal.
struct Database : OpenFile {
  Database(const Paths& store_paths, OpenMode open_mode, Filesystem& filesystem);

  DecodeScratchPool decode_scratch;
  /// True if another process has replaced the index file, or if a shared home's mark has changed.
  /// What the index says about runs is then still right, but files that it lists may be gone.
  bool is_replaced() const;
  /// Throws Busy if files that the index lists may be gone. Call it before a change that refers to
  /// content stored by others; while the HomeLock is held, no such file is removed.
  void require_content() const;
  /// Makes the indexes of other machines outdated. Call it before removing or replacing files that
  /// they may list. Throws Busy if this index is outdated itself. Does nothing if the home is not
  /// shared.
  void renew_mark();
  /// True if the index was replaced, or if another process is rebuilding it and may already have
  /// read the journals.
  bool may_be_replaced() const;

  /// Ids of rows of the table `series`, by (run, name, path). They stay valid until the process
  /// ends, except that `drop_run` clears this map, and that a rolled-back transaction may leave ids
  /// here that do not exist.
  std::unordered_map<std::string, std::int64_t> series;

  /// By id of a series: how many values this process has added as rows since they were last packed
  /// into blocks. May be too high.
  std::unordered_map<std::int64_t, YoungRows> young_rows;

  /// Journals that this process writes, by id of the run.
  std::map<std::int64_t, std::unique_ptr<RunJournal>> journals;
  std::map<std::int64_t, SaidRun> said;  ///< by id of the run
  std::int64_t refreshes = 0;            ///< how often this connection has entered journals into
                                         ///< the index
  /// The mark of the shared home for which this outdated index has already searched the journals of
  /// all runs. It must search them because announcements that it has not seen may be gone.
  std::string searched;

  /// Prints one line on standard error, once per run, that something recorded about it cannot be
  /// read; the rest of the run is still used.
  void name_unreadable(std::string_view key, const std::string& flaw);
  std::set<std::string> unreadable_runs;  ///< keys of the runs that it was called for

  /// The queue of evaluations (queue/queue_file.h); null until it is first needed.
  std::shared_ptr<struct QueueFile> queue;
};

/// `is_current` tells whether the index of a shared home notes the home's present mark; `note_mark`
/// stores a mark in it, within the caller's transaction. An index that notes marks also lists
/// announcements that it has processed (table `announcement`).
bool is_current(Connection& connection, const Paths& paths);
void note_mark(Connection& connection, const std::string& mark);

/// Returns a connection to the index that only reads.
std::unique_ptr<Connection> open_for_reading(const Paths& paths);

/// Parses the words of a command that was recorded for the run. If the text cannot be read, prints
/// a line that names `what`, and returns no words.
std::vector<std::string> command_of(Database& database, std::int64_t run, std::string_view what,
                                    std::string_view json);

/// Returns the Unix time in microseconds.
std::int64_t now_us();

/// True while a process holds the run's lock.
bool is_locked(const OpenFile& database, std::string_view key);
/// True while a process holds a RunUse of the run.
bool is_used(const Database& database, std::string_view key);

/// Wake processes that wait for checkpoints (`checkpoint_bell`), or for any event that a recording
/// writes to its journal (`journal_bell`). Neither function fails.
void ring_checkpoint(const Database& database);
void ring(const Database& database);

}  // namespace flor::store
