// One open catalog: the connection, its mutex, and what is remembered between calls.
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
#include <string>
#include <unordered_map>
#include <utility>

namespace flor::store {

/// Values that lie in rows and may become blocks.
struct YoungRows {
  std::size_t count = 0;
  std::size_t enough = 0;  ///< from as many on it is tried
};

/// A run of which this process says everything in its journal alone (index/journal_writing.h).
struct SaidRun {
  std::string key;
  std::int64_t last_us = 0;  ///< when it said something last
  bool is_ahead = false;     ///< of the index
};

/// The index. Where it `is_replaced`, its journals are read, so what this process says of runs is
/// not lost.
struct Database : OpenFile {
  Database(const Paths& store_paths, OpenMode open_mode, Filesystem& filesystem);

  DecodeScratchPool decode_scratch;
  /// It is replaced, or another process makes it again now: it may have read the journals already.
  bool may_be_replaced() const;

  /// Ids of rows of `series`, by (run, name, path). Right for as long as the process lives, except
  /// after `drop_run`, which clears it, and after a transaction that came to nothing, which may
  /// have made some of them.
  std::unordered_map<std::string, std::int64_t> series;

  /// By id of a series: values that this process has added as rows since they last became blocks.
  /// May be too many.
  std::unordered_map<std::int64_t, YoungRows> young_rows;

  /// Those that this process writes, by the id of the run.
  std::map<std::int64_t, std::unique_ptr<RunJournal>> journals;
  std::map<std::int64_t, SaidRun> said;  ///< by the id of the run
  std::int64_t refreshes = 0;            ///< how often this connection entered what journals say

  /// The evaluations that wait, where they have been looked at: see queue/queue_file.h.
  std::shared_ptr<struct QueueFile> queue;
};

/// A connection to the index that only reads.
std::unique_ptr<Connection> open_for_reading(const Paths& paths);

/// Unix time, microseconds.
std::int64_t now_us();

/// True while a process holds the run's lock.
bool is_locked(const OpenFile& database, std::string_view key);
/// True while a process holds a RunUse of the run.
bool is_used(const Database& database, std::string_view key);

/// Wakes processes that wait for checkpoints (`checkpoint_bell`), or for anything that a recording
/// writes to its journal (`journal_bell`). Never fails.
void ring_checkpoint(const Database& database);
void ring(const Database& database);

}  // namespace flor::store
