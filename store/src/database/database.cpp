#include "database/database.h"

#include "database/reserve.h"
#include "database/schema.h"
#include "database/shared_view_mark.h"
#include "file/home_files.h"
#include "file/mount_locks.h"
#include "file/new_file.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace flor::store {
namespace {

using std::chrono::milliseconds;

std::int64_t pragma(Connection& connection, const char* sql) {
  const auto query = connection(sql);
  return query->step() ? query->integer(0) : 0;
}

/// SQLite does not wait for a change of the journal mode, which 16 processes may want at once.
void set_journal_mode(Connection& connection, const char* mode) {
  const std::string sql = fmt::format("PRAGMA journal_mode={}", mode);
  constexpr int kTries = 3000;
  for (int i = 0; !connection.try_execute(sql.c_str()); ++i) {
    if (i == kTries) {
      throw Busy(fmt::format("the catalog {} is held by another process: wait for it, or end it",
                             connection.path().string()));
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void choose_journal(Connection& connection, Filesystem& files, const Paths& paths) {
  if (shared_memory_works(files, paths.home)) {
    set_journal_mode(connection, "WAL");
    return;
  }
  set_journal_mode(connection, "DELETE");
  static std::once_flag said;
  std::call_once(said, [&] {
    std::fprintf(stderr,
                 "flor: %s is on a network file system: its catalog uses a rollback journal, which "
                 "is slower; a local FLOR_HOME is better\n",
                 paths.home.c_str());
    const std::string why = why_locks_are_local(paths.home);
    if (why.empty()) return;
    std::fprintf(
        stderr,
        "flor: locks in %s keep out processes of this machine only (%s): two machines that "
        "record into it at once destroy it; give each a FLOR_HOME of its own\n",
        paths.home.c_str(), why.c_str());
  });
}

void check_format(Connection& connection, const Paths& paths) {
  const std::int64_t format = pragma(connection, "PRAGMA user_version");
  if (pragma(connection, "PRAGMA application_id") != kApplicationId) {
    throw Damaged(
        fmt::format("{} is a database, but not a catalog of Flor: choose another store "
                    "(--flor_home or FLOR_HOME)",
                    paths.catalog().string()));
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

void create_schema(Connection& connection) {
  Transaction transaction(connection);
  if (!is_empty(connection)) return;  // another process was faster
  connection.execute(kSchema);
  connection.execute(fmt::format("PRAGMA application_id={}", kApplicationId).c_str());
  connection.execute(fmt::format("PRAGMA user_version={}", kFormat).c_str());
  transaction.commit();
}

[[noreturn]] void throw_no_store(const Paths& paths) {
  throw NotFound(fmt::format(
      "there is no store in {}: record a run first, or name its place (--flor_home or FLOR_HOME)",
      paths.home.string()));
}

void make_directories(const Paths& paths) {
  std::error_code error;
  make_home(paths.home, error);
  if (error) throw_system_error("create the store in", paths.home, error.value());
  for (const auto& directory : {paths.packs(), paths.locks()}) {
    make_directory_in_home(directory, error);
    if (error) throw_system_error("create the store in", directory, error.value());
  }
  // Empty, it is a catalog: SQLite would create it as the umask says, and its logs like it.
  const int catalog = open_in_home(paths.catalog(), O_RDWR | O_CREAT);
  if (catalog >= 0) ::close(catalog);
}

/// Where the directory cannot be written, SQLite can read a catalog only if it may take it for
/// unchanging; that is so if no write-ahead log is left beside it.
Connection::Mode connection_mode(const Paths& paths, OpenMode mode) {
  if (mode == OpenMode::create) return Connection::Mode::create;
  std::error_code error;
  if (!std::filesystem::exists(paths.catalog(), error)) throw_no_store(paths);
  if (std::filesystem::exists(snapshot_mark(paths), error)) {
    if (mode == OpenMode::read_only) return Connection::Mode::immutable;
    throw Error(
        fmt::format("{} is a snapshot of a store: it can only be read", paths.home.string()));
  }
  if (mode != OpenMode::read_only) return Connection::Mode::existing;
  try {
    Connection probe(paths.catalog(), Connection::Mode::read_only);
    pragma(probe, "PRAGMA schema_version");
    return Connection::Mode::read_only;
  } catch (const Damaged&) {
    throw;
  } catch (const Error&) {
    const std::filesystem::path log = paths.catalog().string() + "-wal";
    if (std::filesystem::exists(log, error) && std::filesystem::file_size(log, error) > 0) throw;
    return Connection::Mode::immutable;
  }
}

/// Device and inode.
std::pair<std::uint64_t, std::uint64_t> identity_of(const std::filesystem::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

Connection::Mode prepare(const Paths& paths, OpenMode mode) {
  if (mode == OpenMode::create) make_directories(paths);
  return connection_mode(paths, mode);
}

}  // namespace

Database::Database(Paths store_paths, OpenMode mode, Filesystem& filesystem)
    : paths(std::move(store_paths)),
      files(filesystem),
      connection(paths.catalog(), prepare(paths, mode)),
      evaluations(files, paths) {
  // Durable means durable: without EXTRA a rollback journal that was removed may come back.
  if (mode != OpenMode::read_only) {
    connection.let_transactions_choose(false);
    connection.choose(Kept::here);
  }
  if (is_empty(connection)) {
    if (mode != OpenMode::create) throw_no_store(paths);
    sync_names(files, paths.home);
    choose_journal(connection, files, paths);
    create_schema(connection);
  }
  check_format(connection, paths);
  if (mode != OpenMode::read_only) {
    choose_journal(connection, files, paths);
    has_log = shared_memory_works(files, paths.home);
    connection.let_transactions_choose(has_log);
    connection.execute("PRAGMA journal_size_limit=67108864");
  }
  connection.execute("PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY");
  add_later_tables(connection, mode);
  connection.on_roll_back([this] { series.clear(); });
  // An index that is made again needs the room itself.
  if (mode == OpenMode::create && paths.index == Paths::kIndex) make_reserve(paths, files);
  file_ = identity_of(paths.catalog());
  // A change that no journal has would be lost with the replaced file.
  connection.before_lasting([this] {
    if (!is_replaced()) return;
    throw Error(
        fmt::format("the catalog {} was made again while this process had it open: start it again",
                    paths.catalog().string()));
  });
}

bool Database::is_replaced() const { return file_ != identity_of(paths.catalog()); }

bool Database::may_be_replaced() const {
  // In this order: the new one has its final name when it is not there any more.
  Paths made = paths;
  made.index = Paths::kNewIndex;
  std::error_code error;
  return std::filesystem::exists(made.catalog(), error) || is_replaced();
}

void add_later_tables(Connection& connection, OpenMode mode) {
  std::string sql;
  for (const LaterTable& table : kLaterTables) {
    if (has_table(connection, table.name)) continue;
    if (mode != OpenMode::read_only) {
      sql += create_statement(table) + table.indexes;
      continue;
    }
    // A table in memory can refer to none of the others.
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

std::unique_ptr<Connection> open_for_reading(const Paths& paths) {
  return std::make_unique<Connection>(paths.catalog(), connection_mode(paths, OpenMode::read_only));
}

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace flor::store
