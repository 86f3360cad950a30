// An open SQLite file of a home. Catalogs and queues are created, checked and configured here.
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
  /// Opens an empty database in memory instead, for reading when there is no sound file.
  OpenFile(Paths store_paths, const DatabaseForm& form, Filesystem& filesystem);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  Paths paths;
  Filesystem& files;
  const OpenMode mode;
  /// Guards everything below. Recursive because an uncaught exception of the catalog may end the
  /// process at the point where it is thrown; the handler then records the end of the run while the
  /// mutex is held.
  mutable std::recursive_mutex mutex;
  mutable Connection connection;
  /// True if the database has a write-ahead log, so that a power loss cannot damage it.
  bool has_log = false;
  /// True if the file was rebuilt after it was opened: this process still uses the old one, which
  /// no other process reads.
  bool is_replaced() const;
  /// Throws Error if the file `is_replaced`.
  void require_current() const;

 private:
  std::pair<std::uint64_t, std::uint64_t> file_;  ///< device and inode when it was opened
};

/// Returns a connection that only reads, for long work that would block the store's own connection.
std::unique_ptr<Connection> open_for_reading(const Paths& paths, const std::filesystem::path& file);

/// True if the database has the table. A connection of `open_for_reading` may lack later tables.
bool has_table(Connection& connection, const char* name);

/// Creates those later tables that are missing; as empty tables in memory if the connection may not
/// write.
void add_later_tables(Connection& connection, OpenMode mode, std::span<const LaterTable> tables);

enum class FileState { sound, missing, damaged, older };
/// Judges the file by its header and by whether SQLite has found it damaged (damage_mark). A file
/// that cannot be used for another reason counts as sound; opening it reports the reason.
FileState look_at(const std::filesystem::path& file, const DatabaseForm& form);
/// Returns "missing", "damaged" or "of an older form".
const char* name_of(FileState state);

/// A database that is built next to the one that it will replace. The destructor removes its files,
/// also those left by a killed process.
class DatabaseInTheMaking {
 public:
  explicit DatabaseInTheMaking(std::filesystem::path file);
  ~DatabaseInTheMaking();
  DatabaseInTheMaking(const DatabaseInTheMaking&) = delete;
  DatabaseInTheMaking& operator=(const DatabaseInTheMaking&) = delete;

  /// Renames the finished database, which must be closed, to `file`; the present one becomes
  /// FILE.old.
  void replace(const std::filesystem::path& file, Filesystem& filesystem);

 private:
  std::filesystem::path file_;
};
/// The last step of building a database: empties its write-ahead log and removes it.
void settle(Connection& connection);

/// Keeps the present database as FILE.old before another one is renamed to `file`, and removes its
/// logs, which would not fit the new one.
void put_database_aside(const std::filesystem::path& file);

}  // namespace flor::store
