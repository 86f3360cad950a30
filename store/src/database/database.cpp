#include "database/database.h"

#include "base/text.h"
#include "database/reserve.h"
#include "database/rows.h"
#include "database/schema.h"
#include "file/home_files.h"
#include "file/shared_home.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

namespace flor::store {
namespace {

Paths with_directories(Paths paths, OpenMode mode) {
  if (mode != OpenMode::create) return paths;
  std::error_code error;
  make_home(paths.home, error);
  if (error) throw_system_error("create the store in", paths.home, error.value());
  for (const auto& directory : {paths.packs(), paths.locks()}) {
    make_directory_in_home(directory, error);
    if (error) throw_system_error("create the store in", directory, error.value());
  }
  return paths;
}

bool is_in_the_making(const Paths& paths) { return paths.catalog().filename() == Paths::kNewIndex; }

}  // namespace

Database::Database(const Paths& store_paths, OpenMode open_mode, Filesystem& filesystem)
    : OpenFile(with_directories(store_paths, open_mode), store_paths.catalog(), kCatalogForm,
               open_mode, filesystem) {
  connection.on_roll_back([this] { series.clear(); });
  // An index that is being rebuilt needs the space itself.
  const bool is_of_home = paths.shared || paths.index == Paths::kIndex;
  if (mode == OpenMode::create && is_of_home && !is_in_the_making(paths))
    make_reserve(paths, files);
}

bool Database::is_replaced() const {
  if (OpenFile::is_replaced()) return true;
  if (!paths.shared) return false;
  const std::lock_guard lock(mutex);
  return !is_current(connection, paths);
}

void Database::require_content() const {
  if (!paths.shared || !is_replaced()) return;
  throw Busy(
      fmt::format("content of {} was moved or removed by another process meanwhile, perhaps on "
                  "another machine: "
                  "run the command again",
                  paths.home.string()));
}

void Database::renew_mark() {
  if (!paths.shared) return;
  const std::lock_guard lock(mutex);
  const HomeLock home(paths, files, connection.patience());
  require_content();
  Transaction transaction(connection);
  // Before the commit: if the process is killed in between, this index counts as outdated as well,
  // which is safe.
  note_mark(connection, store::renew_mark(paths, files));
  transaction.commit();
}

bool is_current(Connection& connection, const Paths& paths) {
  if (!has_table(connection, "home")) return false;
  const auto row = connection("SELECT mark FROM home");
  return row->step() && !row->text_view(0).empty() && row->text_view(0) == mark_of(paths);
}

void note_mark(Connection& connection, const std::string& mark) {
  connection.execute(
      "CREATE TABLE IF NOT EXISTS home (mark TEXT NOT NULL);"
      "CREATE TABLE IF NOT EXISTS announcement (name TEXT PRIMARY KEY) WITHOUT ROWID;"
      "DELETE FROM home");
  connection("INSERT INTO home (mark) VALUES (?1)", std::string_view(mark))->run();
}

bool Database::may_be_replaced() const {
  // Order matters: once the new file is gone from its temporary name, it has its final one already.
  std::error_code error;
  return std::filesystem::exists(paths.with_new_index().catalog(), error) || is_replaced();
}

std::unique_ptr<Connection> open_for_reading(const Paths& paths) {
  auto connection = open_for_reading(paths, paths.catalog());
  add_later_tables(*connection, OpenMode::read_only, kLaterTables);
  return connection;
}

void Database::name_unreadable(std::string_view key, const std::string& flaw) {
  if (!unreadable_runs.emplace(key).second) return;
  const std::string name(key.substr(0, 8));
  std::fprintf(stderr, "flor: run %s: %s; all else is: `flor rm %s` removes the run\n",
               printable(name).c_str(), flaw.c_str(), printable(name).c_str());
}

std::vector<std::string> command_of(Database& database, std::int64_t run, std::string_view what,
                                    std::string_view json) {
  if (auto words = list_from_json(json)) return *std::move(words);
  const auto row = database.connection("SELECT key FROM run WHERE id = ?1", run);
  if (row->step()) database.name_unreadable(row->text_view(0), unreadable(what, json));
  return {};
}

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace flor::store
