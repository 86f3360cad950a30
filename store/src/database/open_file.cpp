#include "database/open_file.h"

#include "database/shared_view_mark.h"
#include "file/home_files.h"
#include "file/new_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>

namespace flor::store {
namespace fs = std::filesystem;

namespace {

using std::chrono::milliseconds;

std::int64_t pragma(Connection& connection, const char* sql) {
  const auto query = connection(sql);
  return query->step() ? query->integer(0) : 0;
}

/// Retries, because SQLite does not wait for locks when it changes the journal mode, and many
/// processes may change it at once.
void set_journal_mode(Connection& connection, const char* mode) {
  const std::string sql = fmt::format("PRAGMA journal_mode={}", mode);
  constexpr int kTries = 3000;
  for (int i = 0; !connection.try_execute(sql.c_str()); ++i) {
    if (i == kTries) {
      throw Busy(fmt::format("{} is held by another process: wait for it, or end it",
                             connection.naming().name));
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

/// True if a write-ahead log works for `file`. The index of a shared home is on another file
/// system.
bool log_works(Filesystem& files, const Paths& paths, const fs::path& file) {
  const fs::path directory = file.parent_path();
  if (!paths.shared || directory == paths.home) return shared_memory_works(files, paths.home);
  return is_local(Filesystem::system(), directory);
}

void choose_journal(Connection& connection, Filesystem& files, const Paths& paths) {
  set_journal_mode(connection, log_works(files, paths, connection.path()) ? "WAL" : "DELETE");
}

void check_format(Connection& connection, const DatabaseForm& form, const Paths& paths) {
  const std::int64_t format = pragma(connection, "PRAGMA user_version");
  if (pragma(connection, "PRAGMA application_id") != form.application) {
    throw Damaged(
        fmt::format("{} is a database, but not a {} of Flor: choose another store "
                    "(--flor_home or FLOR_HOME)",
                    connection.path().string(), form.name));
  }
  if (format < kFormat) {
    throw Error(
        fmt::format("the store {} has the form of an older Flor (format {}), which this one does "
                    "not read: record into another one (--flor_home or FLOR_HOME)",
                    paths.home.string(), format));
  }
  if (format > kFormat) {
    throw Error(
        fmt::format("the store {} was written by a newer Flor (format {}); this one reads up to "
                    "{}: upgrade flor",
                    paths.home.string(), format, kFormat));
  }
}

bool is_empty(Connection& connection) {
  return pragma(connection, "PRAGMA user_version") == 0 &&
         pragma(connection, "SELECT count(*) FROM sqlite_schema") == 0;
}

void create_schema(Connection& connection, const DatabaseForm& form) {
  Transaction transaction(connection);
  if (!is_empty(connection)) return;  // another process has created the tables meanwhile
  // All tables are created in one transaction: a database with only some of them counts as damaged.
  connection.execute(form.schema);
  for (const LaterTable& table : form.later) {
    connection.execute((create_statement(table) + table.indexes).c_str());
  }
  connection.execute(form.searched);
  connection.execute(fmt::format("PRAGMA application_id={}", form.application).c_str());
  connection.execute(fmt::format("PRAGMA user_version={}", kFormat).c_str());
  transaction.commit();
}

[[noreturn]] void throw_no_store(const Paths& paths) {
  throw NotFound(fmt::format(
      "there is no store in {}: record a run first, or name its place (--flor_home or FLOR_HOME)",
      paths.home.string()));
}

/// In a directory that cannot be written, SQLite can read a database only as immutable. That is
/// safe only if there is no write-ahead log beside it.
Connection::Mode connection_mode(const Paths& paths, const fs::path& file, OpenMode mode) {
  if (mode == OpenMode::create) return Connection::Mode::create;
  std::error_code error;
  if (!fs::exists(file, error)) throw_no_store(paths);
  if (fs::exists(snapshot_mark(paths), error)) {
    if (mode == OpenMode::read_only) return Connection::Mode::immutable;
    throw Error(
        fmt::format("{} is a snapshot of a store: it can only be read", paths.home.string()));
  }
  if (mode != OpenMode::read_only) return Connection::Mode::existing;
  try {
    Connection probe(file, Connection::Mode::read_only);
    pragma(probe, "PRAGMA schema_version");
    return Connection::Mode::read_only;
  } catch (const Damaged&) {
    throw;
  } catch (const Error&) {
    const fs::path log = file.string() + "-wal";
    if (fs::exists(log, error) && fs::file_size(log, error) > 0) throw;
    return Connection::Mode::immutable;
  }
}

/// Creates an empty file with the right mode, which SQLite accepts as a new database. If SQLite
/// created it, the umask would determine the modes of the file and its logs. A file that exists is
/// not opened: to close it would release all locks that this process has on it.
Connection::Mode prepare(const Paths& paths, const fs::path& file, OpenMode mode) {
  if (mode == OpenMode::create) {
    const int made = open_in_home(file, O_RDWR | O_CREAT | O_EXCL);
    if (made >= 0) ::close(made);
  }
  return connection_mode(paths, file, mode);
}

Naming naming_of(const DatabaseForm& form, const fs::path& file) {
  return {fmt::format("the {} {}", form.name, file.string()),
          "run the command again, which makes it anew"};
}

/// Returns device and inode.
std::pair<std::uint64_t, std::uint64_t> identity_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

void remove_database(const fs::path& file) noexcept {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::remove(file.string() + suffix, error);
  }
}

}  // namespace

OpenFile::OpenFile(Paths store_paths, const fs::path& file, const DatabaseForm& form,
                   OpenMode open_mode, Filesystem& filesystem)
    : paths(std::move(store_paths)),
      files(filesystem),
      mode(open_mode),
      connection(file, prepare(paths, file, open_mode), naming_of(form, file)) {
  // `Kept::here` sets synchronous=EXTRA. Without it a deleted rollback journal may reappear after a
  // power loss.
  if (mode != OpenMode::read_only) {
    connection.let_transactions_choose(false);
    connection.choose(Kept::here);
  }
  if (is_empty(connection)) {
    if (mode != OpenMode::create) throw_no_store(paths);
    sync_names(files, paths.home);
    choose_journal(connection, files, paths);
    create_schema(connection, form);
  }
  check_format(connection, form, paths);
  if (mode != OpenMode::read_only) {
    choose_journal(connection, files, paths);
    has_log = log_works(files, paths, file);
    connection.let_transactions_choose(has_log);
    connection.execute("PRAGMA journal_size_limit=67108864");
  }
  connection.execute("PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY");
  add_later_tables(connection, mode, form.later);
  file_ = identity_of(file);
  // A change that only the database has would be lost in a replaced file.
  connection.before_lasting([this] { require_current(); });
}

OpenFile::OpenFile(Paths store_paths, const DatabaseForm& form, Filesystem& filesystem)
    : paths(std::move(store_paths)),
      files(filesystem),
      mode(OpenMode::read_only),
      connection(":memory:", Connection::Mode::create, naming_of(form, ":memory:")) {
  create_schema(connection, form);
  add_later_tables(connection, OpenMode::create, form.later);
}

bool OpenFile::is_replaced() const { return file_ != identity_of(connection.path()); }

void OpenFile::require_current() const {
  if (!is_replaced()) return;
  throw Error(fmt::format("{} was made again while this process had it open: start it again",
                          connection.naming().name));
}

void add_later_tables(Connection& connection, OpenMode mode, std::span<const LaterTable> tables) {
  std::string sql;
  for (const LaterTable& table : tables) {
    if (has_table(connection, table.name)) continue;
    if (mode != OpenMode::read_only) {
      sql += create_statement(table) + table.indexes;
      continue;
    }
    // A table in memory cannot have foreign keys to tables in the file.
    std::string columns = table.columns;
    for (std::size_t at; (at = columns.find(" REFERENCES")) != columns.npos;) {
      columns.erase(at, columns.find_first_of(",\n", at) - at);
    }
    sql += fmt::format("CREATE TEMP TABLE IF NOT EXISTS {} ({}) {};", table.name, columns,
                       table.options);
  }
  if (sql.empty()) return;
  if (mode == OpenMode::read_only) return connection.execute(sql.c_str());
  Transaction transaction(connection);
  connection.execute(sql.c_str());
  transaction.commit();
}

bool has_table(Connection& connection, const char* name) {
  return connection("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1",
                    std::string_view(name))
      ->step();
}

std::unique_ptr<Connection> open_for_reading(const Paths& paths, const fs::path& file) {
  return std::make_unique<Connection>(file, connection_mode(paths, file, OpenMode::read_only));
}

FileState look_at(const fs::path& file, const DatabaseForm& form) {
  std::error_code error;
  if (fs::exists(damage_mark(file), error)) return FileState::damaged;
  if (!fs::exists(file, error) || fs::file_size(file, error) == 0) {
    // The content of a database created a moment ago may be only in its log.
    const fs::path log = file.string() + "-wal";
    const bool has_log = fs::exists(log, error) && fs::file_size(log, error) > 0;
    return has_log ? FileState::sound : FileState::missing;
  }
  try {
    Connection connection(file, Connection::Mode::read_only);
    const bool ours = pragma(connection, "PRAGMA application_id") == form.application;
    const std::int64_t version = pragma(connection, "PRAGMA user_version");
    if (version == 0 && !ours) {
      // The file belongs to another program, or is an empty database.
      return is_empty(connection) ? FileState::missing : FileState::sound;
    }
    if (version > 0 && version < kFormat) return FileState::older;
    if (version == kFormat && !has_table(connection, form.needed)) return FileState::damaged;
    if (version == kFormat && !connection.has_checksums()) return FileState::older;
  } catch (const Damaged&) {
    return FileState::damaged;
  } catch (const Error&) {
    // The file is busy or unreadable; opening it will report why.
  }
  return FileState::sound;
}

const char* name_of(FileState state) {
  return state == FileState::missing ? "missing"
         : state == FileState::older ? "of an older form"
                                     : "damaged";
}

DatabaseInTheMaking::DatabaseInTheMaking(fs::path file) : file_(std::move(file)) {
  remove_database(file_);
}

DatabaseInTheMaking::~DatabaseInTheMaking() { remove_database(file_); }

void DatabaseInTheMaking::replace(const fs::path& file, Filesystem& filesystem) {
  File(filesystem, file_, O_RDWR).sync();
  put_database_aside(file);
  fs::rename(file_, file);
}

void settle(Connection& connection) {
  connection.truncate_log();
  connection.execute("PRAGMA journal_mode=DELETE");
}

void put_database_aside(const fs::path& file) {
  const fs::path old = file.string() + ".old";
  std::error_code error;
  if (fs::exists(file, error)) {
    remove_database(old);
    fs::create_hard_link(file, old, error);
  }
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    fs::remove(file.string() + suffix, error);
  }
}

}  // namespace flor::store
