#include "index/announcements.h"

#include "file/file_age.h"
#include "file/frames.h"
#include "file/shared_home.h"
#include "index/refresh.h"
#include "journal/journal_copy.h"
#include "journal/journal_reader.h"
#include "journal/run_journal.h"

#include <chrono>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kSafeAge{1};

/// True for a journal whose first change failed, so that it has no events, and that no process
/// writes.
bool is_without_events(const Database& database, const fs::path& journal) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(journal, error)) && !error &&
         has_no_beginning(database.files, journal) && !is_written(database.files, journal);
}

void remove_journals_without_events(Database& database, fs::file_time_type before) {
  for (const std::string& run : find_runs(database.paths)) {
    for (const FoundJournal& found : find_journals(database.paths, run)) {
      if (!was_changed_before(found.path, before) || !is_without_events(database, found.path) ||
          has_position(database.connection, run, found.number)) {
        continue;
      }
      std::error_code error;
      fs::remove(found.path, error);
      fs::remove(copy_path(found.path), error);  // the copy has no frames either
      fs::remove(found.path.parent_path(), error);
    }
  }
}

bool knows_all_journals(Database& database, const std::string& run) {
  for (const FoundJournal& found : find_journals(database.paths, run)) {
    if (!has_position(database.connection, run, found.number)) return false;
  }
  return true;
}

/// Removes journals of runs that were dropped by a process with an outdated index.
void remove_dropped_runs(Database& database, fs::file_time_type before) {
  for (const std::string& run : find_runs(database.paths)) {
    if (database.connection("SELECT 1 FROM run WHERE key = ?1", run)->step()) continue;
    RefreshReport report;
    enter_runs(database, {run}, report);
    judge_losses(database, report);
    const bool dropped = report.dropped.contains(run);
    if (!dropped || !was_changed_before(database.paths.run(run), before)) continue;
    remove_run_directory(database.paths, run);
    remove_announcements(database.paths, run);
  }
}

void forget_served(Database& database, const std::vector<fs::path>& served) {
  if (!database.paths.shared) return;
  for (const fs::path& file : served) {
    database.connection("DELETE FROM announcement WHERE name = ?1", file.filename().string())
        ->run();
  }
}

}  // namespace

std::vector<Announcement> waiting_announcements(Database& database) {
  std::vector<Announcement> waiting = find_announcements(database.paths);
  if (!database.paths.shared) return waiting;
  if (mark_of(database.paths) != database.searched &&
      !is_current(database.connection, database.paths)) {
    for (std::string& run : find_runs(database.paths)) waiting.push_back({{}, std::move(run), 0});
  }
  if (waiting.empty()) return waiting;
  std::unordered_set<std::string> served;  // one query instead of thousands
  const auto rows = database.connection("SELECT name FROM announcement");
  while (rows->step()) served.insert(rows->text(0));
  std::erase_if(waiting, [&](const Announcement& one) { return served.contains(one.name); });
  return waiting;
}

void note_served(Database& database, const std::vector<Announcement>& waiting,
                 const std::set<std::string>& unread) {
  if (!database.paths.shared) return;
  for (const Announcement& one : waiting) {
    if (one.number == 0 || unread.contains(one.run) ||
        !has_position(database.connection, one.run, one.number)) {
      continue;
    }
    database.connection("INSERT OR IGNORE INTO announcement (name) VALUES (?1)", one.name)->run();
  }
}

bool has_position(Connection& connection, std::string_view run, std::int64_t writer) {
  return connection(
             "SELECT 1 FROM journal JOIN run ON run.id = journal.run WHERE run.key = ?1 AND "
             "writer = ?2",
             run, writer)
      ->step();
}

std::vector<fs::path> served_announcements(Database& database, std::string_view run) {
  for (const FoundJournal& found : find_journals(database.paths, run)) {
    if (!has_position(database.connection, run, found.number) &&
        is_written(database.files, found.path)) {
      return {};
    }
  }
  return announcements_of(database.paths, run);
}

void remove_debris(Database& database) {
  const auto before = file_time_ago(kSafeAge);
  std::vector<fs::path> served;
  {
    const std::lock_guard lock(database.mutex);
    // A durable transaction, which also makes durable what the index has read from the journals.
    Transaction lasting(database.connection);
    remove_journals_without_events(database, before);
    for (const std::string& run : find_announced_runs(database.paths)) {
      if (!knows_all_journals(database, run)) continue;
      for (fs::path& file : announcements_of(database.paths, run)) {
        if (was_changed_before(file, before)) served.push_back(std::move(file));
      }
      database
          .connection(
              "UPDATE journal SET closed = closed WHERE run = (SELECT id FROM run WHERE key = ?1)",
              run)
          ->run();
    }
    if (database.paths.shared) remove_dropped_runs(database, before);
    forget_served(database, served);
    lasting.commit();
  }
  std::error_code error;
  for (const fs::path& file : served) fs::remove(file, error);
  remove_empty_directories(database.paths, before);
}

}  // namespace flor::store
