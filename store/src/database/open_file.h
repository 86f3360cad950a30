// An open SQLite file of a home: catalogs and queues are created, checked and set up alike.
#pragma once

#include "database/schema.h"
#include "database/sqlite.h"
#include "file/filesystem.h"
#include "file/paths.h"

#include <flor/store/store.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

namespace flor::store {

struct OpenFile {
  OpenFile(Paths store_paths, const std::filesystem::path& file, const DatabaseForm& form,
           OpenMode open_mode, Filesystem& filesystem);
  /// In memory: for callers that only read, if there is no sound file.
  OpenFile(Paths store_paths, const DatabaseForm& form, Filesystem& filesystem);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  Paths paths;
  Filesystem& files;
  const OpenMode mode;
  /// Guards everything below. Recursive for one case: an uncaught exception of the catalog ends the
  /// process where it was thrown, and the end of the run is entered from there.
  mutable std::recursive_mutex mutex;
  mutable Connection connection;
  /// True if the file has a write-ahead log, which no power loss damages.
  bool has_log = false;
  /// True if the file was rebuilt since it was opened: this process still has the old one, which no
  /// other process reads.
  bool is_replaced() const;
  /// Throws Error if it was replaced.
  void require_current() const;

 private:
  std::pair<std::uint64_t, std::uint64_t> file_;  ///< device and inode
};

/// A connection that only reads, for work that would occupy the store's own for long.
std::unique_ptr<Connection> open_for_reading(const Paths& paths, const std::filesystem::path& file);

/// True if the database has the table. On a connection of `open_for_reading`, later tables may be
/// missing.
bool has_table(Connection& connection, const char* name);

/// Makes the later tables that are missing: empty ones in memory if the connection may not write.
void add_later_tables(Connection& connection, OpenMode mode, std::span<const LaterTable> tables);

enum class FileState { sound, missing, damaged, older };
/// Judges the file alone: its header, and whether SQLite has found it damaged since it was made. If
/// it cannot be used for another reason, which opening it will report, it counts as sound.
FileState look_at(const std::filesystem::path& file, const DatabaseForm& form);
/// "missing", "damaged", "of an older form".
const char* name_of(FileState state);

/// A database that is made beside the one it will replace. Its files, and those left by a process
/// that was killed while making one, are removed with this object.
class DatabaseInTheMaking {
 public:
  explicit DatabaseInTheMaking(std::filesystem::path file);
  ~DatabaseInTheMaking();
  DatabaseInTheMaking(const DatabaseInTheMaking&) = delete;
  DatabaseInTheMaking& operator=(const DatabaseInTheMaking&) = delete;

  /// Renames the database, closed and complete without its log, to `file`; the present one becomes
  /// FILE.old.
  void replace(const std::filesystem::path& file, Filesystem& filesystem);

 private:
  std::filesystem::path file_;
};
/// The last step of making a database: empties its log and removes it.
void settle(Connection& connection);

/// Prepares for renaming another database to `file`: keeps the present one as FILE.old, and removes
/// its logs, which fit no other database.
void put_database_aside(const std::filesystem::path& file);

}  // namespace flor::store
