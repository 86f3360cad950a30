// One open catalog: the connection, its mutex, and the state kept between calls.
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

/// Values that lie in rows and may become blocks.
struct YoungRows {
  std::size_t count = 0;
  std::size_t enough = 0;  ///< packing is tried from this count on
};

/// A run whose events this process writes to its journal only (index/journal_writing.h).
struct SaidRun {
  std::string key;
  std::int64_t last_us = 0;  ///< time of the last event
  bool is_ahead = false;     ///< has events that the index lacks
};

/// The index. If it `is_replaced`, the new one is made from the journals, so events that this
/// process writes to journals are not lost.
struct Database : OpenFile {
  Database(const Paths& store_paths, OpenMode open_mode, Filesystem& filesystem);

  DecodeScratchPool decode_scratch;
  /// True if the index was replaced, or is not that of the present mark of a shared home: what it
  /// says of runs is right, but files that it knows may be gone.
  bool is_replaced() const;
  /// Throws Busy if files that the index knows may be gone. For changes that refer to content which
  /// others have stored: within a HomeLock, none goes before the change is made.
  void require_content() const;
  /// Makes the indexes of other machines outdated, before files are removed or replaced that they
  /// may know. Throws Busy if this one is outdated. Does nothing in a home that is not shared.
  void renew_mark();
  /// True if the index was replaced, or another process is rebuilding it now and may have read the
  /// journals already.
  bool may_be_replaced() const;

  /// Ids of rows of `series`, by (run, name, path). Valid as long as the process lives, except
  /// after `drop_run`, which clears it, and after a transaction that was rolled back, which may
  /// have inserted some of them.
  std::unordered_map<std::string, std::int64_t> series;

  /// By id of a series: values that this process has added as rows since they were last packed into
  /// blocks. The count may be too high.
  std::unordered_map<std::int64_t, YoungRows> young_rows;

  /// Journals that this process writes, by the id of the run.
  std::map<std::int64_t, std::unique_ptr<RunJournal>> journals;
  std::map<std::int64_t, SaidRun> said;  ///< by the id of the run
  std::int64_t refreshes = 0;            ///< how often this connection has entered journals
  /// The mark of a shared home for which an outdated index has looked at the journals of all runs,
  /// since what was announced before may not be announced any more.
  std::string searched;

  /// Says once, in a line on standard error, that something recorded about the run cannot be read;
  /// all else is.
  void name_unreadable(std::string_view key, const std::string& flaw);
  std::set<std::string> unreadable_runs;  ///< keys of those that it has named

  /// The queue of evaluations, once it has been asked for: see queue/queue_file.h.
  std::shared_ptr<struct QueueFile> queue;
};

/// Whether the index of a shared home notes the present mark, and noting one, in a transaction of
/// the caller. Such an index also lists announcements that it needs no more (table `announcement`).
bool is_current(Connection& connection, const Paths& paths);
void note_mark(Connection& connection, const std::string& mark);

/// A connection to the index that only reads.
std::unique_ptr<Connection> open_for_reading(const Paths& paths);

/// The words of a command that something recorded about the run has; none, and a line says so, if
/// the text cannot be read.
std::vector<std::string> command_of(Database& database, std::int64_t run, std::string_view what,
                                    std::string_view json);

/// Unix time, microseconds.
std::int64_t now_us();

/// True while a process holds the run's lock.
bool is_locked(const OpenFile& database, std::string_view key);
/// True while a process holds a RunUse of the run.
bool is_used(const Database& database, std::string_view key);

/// Wake processes that wait for checkpoints (`checkpoint_bell`), or for any event that a recording
/// writes to its journal (`journal_bell`). Never fail.
void ring_checkpoint(const Database& database);
void ring(const Database& database);

}  // namespace flor::store
