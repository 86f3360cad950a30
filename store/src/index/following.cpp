// Updates the index for commands that only read, if that is possible without waiting long.
#include "database/shared_view_mark.h"
#include "file/shared_home.h"
#include "index/journal_writing.h"
#include "index/refresh.h"
#include "index/values/logged_evaluations.h"

#include <flor/store/error.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace flor::store {
namespace {

/// How long a command that only reads waits for the write lock.
constexpr std::chrono::milliseconds kPatienceOfLooking{1500};

}  // namespace

RefreshReport refresh_if_possible(const Paths& paths, Filesystem& filesystem) {
  RefreshReport report;
  std::string why =
      paths.catalog().string() + " may not be written: copy the store and use the copy (--home)";
  if (::access(paths.catalog().parent_path().c_str(), W_OK) == 0) {
    try {
      Database writing(paths, OpenMode::existing, filesystem);
      writing.connection.set_patience(kPatienceOfLooking);
      return refresh(writing);
    } catch (const Error& error) {
      if (error.status() != ExitStatus::failed && error.status() != ExitStatus::busy) throw;
      why = error.what();
    }
  }
  report.is_entered = false;
  report.damage.push_back("what is shown is older than what journals say: " + why);
  return report;
}

bool follow(Database& database) {
  const std::lock_guard lock(database.mutex);
  std::error_code error;
  if (database.connection.in_transaction() ||
      std::filesystem::exists(snapshot_mark(database.paths), error)) {
    return true;
  }
  const bool is_reader = database.mode == OpenMode::read_only;
  if (is_reader && database.paths.shared && database.OpenFile::is_replaced()) {
    static std::once_flag said;
    std::call_once(said, [&] {
      std::fprintf(stderr,
                   "flor: %s was made again while this process had it open, and does not show what "
                   "comes: start it again\n",
                   database.connection.naming().name.c_str());
    });
    return false;
  }
  try {
    const std::string mark = database.paths.shared ? mark_of(database.paths) : std::string();
    if (!is_behind(database)) {
      database.searched = mark;
      return true;
    }
    const RefreshReport report =
        is_reader ? refresh_if_possible(database.paths, database.files) : refresh(database);
    if (!report.is_entered) return false;
    if (!is_reader) index_has_it(database);
    for (const std::string& line : report.damage) std::fprintf(stderr, "flor: %s\n", line.c_str());
    ++database.refreshes;
    database.searched = mark;
    return true;
  } catch (const Error& failure) {
    if (failure.status() != ExitStatus::failed && failure.status() != ExitStatus::busy) throw;
    return false;
  }
}

void follow_others(Database& database) {
  if (database.paths.shared) follow(database);
}

void follow_evaluations(Database& database) {
  const std::lock_guard lock(database.mutex);
  if (database.connection.in_transaction() || !lacks_evaluations(database)) return;
  if (database.mode == OpenMode::read_only) {
    refresh_if_possible(database.paths, database.files);
    return;
  }
  try {
    std::vector<std::string> damage;
    Transaction transaction(database.connection, Kept::journals);
    enter_new_evaluations(database, damage);
    transaction.commit();
  } catch (const Error& error) {
    if (error.status() != ExitStatus::failed && error.status() != ExitStatus::busy) throw;
  }
}

}  // namespace flor::store
