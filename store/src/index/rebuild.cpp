// Makes the index again, and finds out where that is needed.
#include "base/system_error.h"
#include "database/schema.h"
#include "database/shared_view_mark.h"
#include "file/lock_file.h"
#include "index/refresh.h"
#include "index/values/logged_evaluations.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

enum class IndexState { sound, missing, damaged, older };

/// Of the file alone: its header, and whether SQLite has found it damaged since it was made.
IndexState look_at_index(const Paths& paths) {
  std::error_code error;
  if (fs::exists(paths.index_damage(), error)) return IndexState::damaged;
  if (!fs::exists(paths.catalog(), error) || fs::file_size(paths.catalog(), error) == 0) {
    // A store that was made a moment ago may be in its log alone.
    const fs::path log = paths.catalog().string() + "-wal";
    const bool has_log = fs::exists(log, error) && fs::file_size(log, error) > 0;
    return has_log ? IndexState::sound : IndexState::missing;
  }
  try {
    Connection connection(paths.catalog(), Connection::Mode::read_only);
    const auto application = connection("PRAGMA application_id");
    const bool ours = application->step() && application->integer(0) == kApplicationId;
    const auto format = connection("PRAGMA user_version");
    const std::int64_t version = format->step() ? format->integer(0) : 0;
    const auto tables = connection("SELECT count(*) FROM sqlite_schema WHERE name = 'journal'");
    tables->step();
    if (version == 0 && !ours) {
      // Another's, or one that is empty.
      const auto any = connection("SELECT count(*) FROM sqlite_schema");
      return any->step() && any->integer(0) > 0 ? IndexState::sound : IndexState::missing;
    }
    if (version > 0 && version < kFormat) return IndexState::older;
    if (version == kFormat && tables->integer(0) == 0) return IndexState::damaged;
  } catch (const Damaged&) {
    return IndexState::damaged;
  } catch (const Error&) {
    // Busy, or not to be read: opening it says why.
  }
  return IndexState::sound;
}

fs::path old_index(const Paths& paths) { return paths.catalog().string() + ".old"; }

/// What no journal says and the present index still has: evaluations that wait, and what watches
/// have seen.
void salvage_queue(Connection& connection, const Paths& paths) {
  std::error_code error;
  fs::path old = paths.catalog();
  if (!fs::exists(old, error)) old = old_index(paths);  // a rebuild was killed
  if (!fs::exists(old, error)) return;
  try {
    connection("ATTACH ?1 AS old", old.string())->run();
  } catch (const Error&) {
    return;
  }
  for (const char* table : {"evaluator", "job", "job_result", "fetched_result", "watch", "sighting",
                            "watcher", "watcher_place", "queue", "queue_job"}) {
    try {
      Transaction transaction(connection);
      connection.execute(
          fmt::format("INSERT OR IGNORE INTO main.{0} SELECT * FROM old.{0}", table).c_str());
      transaction.commit();
    } catch (const Error&) {
      // It is damaged there, too.
    }
  }
  try {
    connection.execute("DETACH old");
  } catch (const Error&) {
    // It goes with the connection.
  }
}

/// What their logs say, and the present index does not have any more.
void add_evaluations(Database& database, RefreshReport& report) {
  const auto events = read_evaluations(database.files, database.paths, report.damage);
  Transaction transaction(database.connection);
  enter_evaluations(database.connection, events);
  transaction.commit();
}

void remove_files(const fs::path& database) {
  std::error_code error;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    fs::remove(database.string() + suffix, error);
  }
}

/// An index that is being made, or was when its maker was killed.
class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(fs::path database) : database_(std::move(database)) {
    remove_files(database_);
  }
  ~RemovedAtEnd() { remove_files(database_); }
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;

 private:
  fs::path database_;
};

const char* name_of(IndexState state) {
  return state == IndexState::missing ? "missing"
         : state == IndexState::older ? "of an older form"
                                      : "damaged";
}

[[noreturn]] void throw_no_room(const Paths& paths, IndexState state) {
  std::error_code error;
  throw SystemError(
      fmt::format("the catalog {} is {}, and the disk has no room to make it again: {}",
                  paths.catalog().string(), name_of(state),
                  fs::exists(paths.reserve(), error)
                      ? "run `flor gc`, which has a reserve, or remove other files from that disk"
                      : "run `flor gc`, or remove other files from that disk"),
      ENOSPC);
}

/// Tells on standard error how far it is, where it takes long: on a terminal a line that changes.
class RebuildLine {
 public:
  ~RebuildLine() {
    if (is_shown_) std::fputs("\r\033[K", stderr);
  }
  RebuildLine() = default;
  RebuildLine(const RebuildLine&) = delete;
  RebuildLine& operator=(const RebuildLine&) = delete;

  void show(std::size_t done, std::size_t all) {
    const auto now = Clock::now();
    if (now < next_) return;
    next_ = now + (terminal_ ? Clock::duration(std::chrono::milliseconds(200))
                             : Clock::duration(std::chrono::seconds(30)));
    std::fprintf(stderr,
                 terminal_ ? "\r\033[Kflor: the catalog is made again: %zu of %zu runs"
                           : "flor: the catalog is made again: %zu of %zu runs\n",
                 done, all);
    is_shown_ = terminal_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_ = ::isatty(2) == 1, is_shown_ = false;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

/// Makes `made` from the journals and packs of a home, whatever index that has.
RefreshReport make_index(const Paths& made, const Paths& home, Filesystem& filesystem) {
  RefreshReport report;
  Database database(made, OpenMode::create, filesystem);
  database.connection.execute("PRAGMA synchronous=OFF");
  const std::lock_guard lock(database.mutex);
  Transaction transaction(database.connection);
  std::vector<fs::path> unlisted;
  {
    RebuildLine line;
    enter_runs(database, find_runs(home, &unlisted), report,
               [&](std::size_t done, std::size_t all) { line.show(done, all); });
  }
  for (const fs::path& directory : unlisted) {
    report.is_whole = false;
    report.damage.push_back(cannot_list(directory));
  }
  transaction.commit();
  salvage_queue(database.connection, home);
  add_evaluations(database, report);
  database.connection.truncate_log();
  database.connection.execute("PRAGMA journal_mode=DELETE");
  return report;
}

/// The present one stays as catalog.db.old; the next must not be read with its log.
void put_old_index_aside(const Paths& paths) {
  std::error_code error;
  if (fs::exists(paths.catalog(), error)) {
    remove_files(old_index(paths));
    fs::create_hard_link(paths.catalog(), old_index(paths), error);
  }
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    fs::remove(paths.catalog().string() + suffix, error);
  }
}

/// True if the home cannot take an index, so that one elsewhere helps; false where another process
/// is in the way, for which the user can wait.
bool is_of_the_disk(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return dynamic_cast<const fs::filesystem_error*>(&failure) ||
         (error && error->status() == ExitStatus::failed);
}

/// `how`: it is, or was, and what was done.
std::string runs_of(const RefreshReport& report) {
  return fmt::format("the journals of {} run{}", report.runs, report.runs == 1 ? "" : "s");
}

void say(const std::string& what, const RefreshReport& report) {
  std::fprintf(stderr, "flor: %s\n", what.c_str());
  for (const std::string& line : report.damage) std::fprintf(stderr, "flor: %s\n", line.c_str());
}

/// For a command that only looks, since the home takes no index.
std::unique_ptr<IndexElsewhere> make_index_elsewhere(const Paths& paths, Filesystem& filesystem,
                                                     const std::string& why) {
  try {
    auto made = std::make_unique<IndexElsewhere>(paths, filesystem);
    say(fmt::format("the catalog {} {}: for this command it was made in {} from {}",
                    paths.catalog().string(), why, made->paths().catalog().parent_path().string(),
                    runs_of(made->report())),
        made->report());
    return made;
  } catch (const std::exception& failure) {
    if (!is_of_the_disk(failure)) throw;
    throw Error(
        fmt::format("the catalog {} {}, nor elsewhere ({}): set TMPDIR to where there is room",
                    paths.catalog().string(), why, failure.what()));
  }
}

}  // namespace

RefreshReport rebuild(const Paths& paths, Filesystem& filesystem) {
  Paths made = paths;
  made.index = Paths::kNewIndex;
  const RemovedAtEnd removed(made.catalog());
  RefreshReport report = make_index(made, paths, filesystem);
  File(filesystem, made.catalog(), O_RDWR).sync();
  put_old_index_aside(paths);
  fs::rename(made.catalog(), paths.catalog());
  std::error_code error;
  // Else the next one looks for what this one could not find.
  if (report.is_whole) fs::remove(paths.index_damage(), error);
  if (!report.is_whole) remember_damage(paths);
  // The new index would never look at them again.
  for (const std::string& key : report.unread) announce(paths, key);
  for (const std::string& key : report.dropped) announce(paths, key);  // what is left of them goes
  sync_directory(filesystem, paths.home);
  return report;
}

IndexElsewhere::IndexElsewhere(const Paths& paths, Filesystem& filesystem) : paths_(paths) {
  for (const fs::path& place : {fs::path(), fs::path("/dev/shm")}) {
    try {
      work_.emplace("index", place);
      paths_.index = (work_->path() / Paths::kIndex).string();
      report_ = make_index(paths_, paths, filesystem);
      return;
    } catch (const std::exception& failure) {
      if (!is_of_the_disk(failure) || !place.empty()) throw;
    }
  }
}

std::unique_ptr<IndexElsewhere> require_index(const Paths& paths, OpenMode mode,
                                              Filesystem& filesystem) {
  std::error_code error;
  if (fs::exists(snapshot_mark(paths), error)) return nullptr;
  const IndexState before = look_at_index(paths);
  if (before == IndexState::sound) return nullptr;
  std::vector<fs::path> unlisted;
  const bool has_journals =
      !find_runs(paths, &unlisted).empty() || !find_evaluation_logs(paths).empty();
  // An empty index would look like that of a store in which nothing was recorded.
  if (!has_journals && !unlisted.empty()) {
    throw Error(fmt::format("the catalog {} is {}, and {}", paths.catalog().string(),
                            name_of(before), cannot_list(unlisted.front())));
  }
  if (before == IndexState::older && !has_journals) {
    throw Error(
        fmt::format("the store {} has the form of an older Flor, which this one does not read: "
                    "record into another one (--flor_home or FLOR_HOME)",
                    paths.home.string()));
  }
  if (!has_journals) return nullptr;  // opening it makes an empty one, or says that there is none
  try {
    const IndexLock lock(filesystem, paths);
    if (look_at_index(paths) == IndexState::sound) return nullptr;  // another process did it
    const RefreshReport report = rebuild(paths, filesystem);
    say(fmt::format("the catalog {} was {}: it was made again from {}", paths.catalog().string(),
                    name_of(before), runs_of(report)),
        report);
    return nullptr;
  } catch (const std::exception& failure) {
    if (!is_of_the_disk(failure)) throw;
    if (mode == OpenMode::read_only) {
      return make_index_elsewhere(paths, filesystem,
                                  fmt::format("is {}, and cannot be made again there ({})",
                                              name_of(before), failure.what()));
    }
    if (is_no_space(failure)) throw_no_room(paths, before);
    throw;
  }
}

IndexLock::IndexLock(Filesystem& filesystem, const Paths& paths)
    : file_(filesystem, paths.maintenance_lock(), O_RDWR | O_CREAT, kInHome) {
  constexpr int kTries = 600;
  constexpr std::chrono::milliseconds kPause{100};
  for (int i = 0; !lock_file(file_.descriptor(), LOCK_EX | LOCK_NB); ++i) {
    if (i == kTries) {
      throw Busy(
          fmt::format("the catalog of {} is to be made again, and another process collects "
                      "garbage, repairs, or does that already: wait for it",
                      paths.home.string()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

bool put_index_aside(const Paths& paths) {
  if (look_at_index(paths) == IndexState::sound) return false;
  put_old_index_aside(paths);
  std::error_code error;
  fs::remove(paths.catalog(), error);
  return true;
}

}  // namespace flor::store
