// A SQLite file of a home, open: created, checked and set up in one way, whatever is in it.
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
  /// In memory: for what only looks, where there is no sound file.
  OpenFile(Paths store_paths, const DatabaseForm& form, Filesystem& filesystem);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  Paths paths;
  Filesystem& files;
  const OpenMode mode;
  /// Of everything below. Recursive for one case: an exception of the catalog that nobody catches
  /// ends the process where it was thrown, and the end of the run is entered from there.
  mutable std::recursive_mutex mutex;
  Connection connection;
  /// A write-ahead log, which no power loss damages.
  bool has_log = false;
  /// Whether the file was made again since: this process has the one before it, which no other
  /// process reads.
  bool is_replaced() const;
  /// Throws Error if it was.
  void require_current() const;

 private:
  std::pair<std::uint64_t, std::uint64_t> file_;  ///< device and inode
};

/// A connection that only reads, for work that would keep the store's own busy for long.
std::unique_ptr<Connection> open_for_reading(const Paths& paths, const std::filesystem::path& file);

/// Whether the database has the table. On a connection of `open_for_reading` those may be missing
/// that came later.
bool has_table(Connection& connection, const char* name);

/// Makes the tables that came later and are missing; empty ones in memory where nothing may be
/// written.
void add_later_tables(Connection& connection, OpenMode mode, std::span<const LaterTable> tables);

enum class FileState { sound, missing, damaged, older };
/// Of the file alone: its header, and whether SQLite has found it damaged since it was made. Where
/// opening it will say why it cannot be used, it counts as sound.
FileState look_at(const std::filesystem::path& file, const DatabaseForm& form);
/// "missing", "damaged", "of an older form".
const char* name_of(FileState state);

/// A database that is made beside the one whose place it will take. Its files, and those of a maker
/// that was killed, go with this object.
class DatabaseInTheMaking {
 public:
  explicit DatabaseInTheMaking(std::filesystem::path file);
  ~DatabaseInTheMaking();
  DatabaseInTheMaking(const DatabaseInTheMaking&) = delete;
  DatabaseInTheMaking& operator=(const DatabaseInTheMaking&) = delete;

  /// It is closed, and whole without its log: from now on it is `file`, and the present one
  /// FILE.old.
  void replace(const std::filesystem::path& file, Filesystem& filesystem);

 private:
  std::filesystem::path file_;
};
/// What is to be done last to such a one: its log is emptied, and goes.
void settle(Connection& connection);

/// Before another is renamed to `file`: the present one stays as FILE.old, and its logs go, which
/// belong to no other.
void put_database_aside(const std::filesystem::path& file);

}  // namespace flor::store
