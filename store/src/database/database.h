// One open catalog: the connection, its mutex, and what is remembered between calls.
#pragma once

#include "codec/decode_scratch.h"
#include "database/sqlite.h"
#include "file/filesystem.h"
#include "file/paths.h"
#include "journal/evaluation_log.h"
#include "journal/run_journal.h"

#include <flor/store/catalog.h>
#include <flor/store/store.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace flor::store {

struct Database {
  Database(Paths store_paths, OpenMode mode, Filesystem& filesystem);

  Paths paths;
  Filesystem& files;
  DecodeScratchPool decode_scratch;
  /// Of everything below. Recursive for one case: an exception of the catalog that nobody catches
  /// ends the process where it was thrown, and the end of the run is entered from there.
  mutable std::recursive_mutex mutex;
  Connection connection;
  /// A write-ahead log, which no power loss damages.
  bool has_log = false;
  /// Whether the index was made again since: this process has the one before it, which no other
  /// process reads. Its journals are read, so what it says of runs is not lost.
  bool is_replaced() const;
  /// The same, or another process makes it again now: it may have read the journals already.
  bool may_be_replaced() const;

  /// Ids of rows of `series`, by (run, name, path). Right for as long as the process lives, except
  /// after `drop_run`, which clears it, and after a transaction that came to nothing, which may
  /// have made some of them.
  std::unordered_map<std::string, std::int64_t> series;

  /// Those that this process writes, by the id of the run.
  std::map<std::int64_t, std::unique_ptr<RunJournal>> journals;
  EvaluationLog evaluations;  ///< likewise

 private:
  std::pair<std::uint64_t, std::uint64_t> file_;  ///< device and inode of the index
};

/// A connection that only reads, for work that would keep the store's own busy for long.
std::unique_ptr<Connection> open_for_reading(const Paths& paths);

/// Unix time, microseconds.
std::int64_t now_us();

/// True while a process holds the run's lock.
bool is_locked(const Database& database, std::string_view key);
/// True while a process holds a RunUse of the run.
bool is_used(const Database& database, std::string_view key);

/// Tells those who wait for checkpoints (`checkpoint_bell`). Never fails.
void ring_checkpoint(const Database& database);

/// Whether the catalog has the table. On a connection of `open_for_reading` those may be missing
/// that came later.
bool has_table(Connection& connection, const char* name);

/// Makes the tables that came later and are missing; empty ones in memory where nothing may be
/// written.
void add_later_tables(Connection& connection, OpenMode mode);

}  // namespace flor::store
