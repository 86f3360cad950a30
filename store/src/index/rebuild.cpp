// Decides whether the index must be rebuilt, and rebuilds it.
#include "base/system_error.h"
#include "database/schema.h"
#include "database/shared_view_mark.h"
#include "file/lock_file.h"
#include "file/shared_home.h"
#include "index/announcements.h"
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
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace flor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLongWait{60};

[[noreturn]] void throw_no_room(const Paths& paths, FileState state) {
  std::error_code error;
  throw SystemError(
      fmt::format("the catalog {} is {}, and the disk has no room to make it again: {}",
                  paths.catalog().string(), name_of(state),
                  fs::exists(paths.reserve(), error)
                      ? "run `flor gc`, which has a reserve, or remove other files from that disk"
                      : "run `flor gc`, or remove other files from that disk"),
      ENOSPC);
}

/// Shows progress on standard error if it takes long; on a terminal by rewriting one line.
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

/// Builds the index `made` from the journals and packs of a home, without reading the present
/// index. Call it while holding a RemakingLock, since what moves meanwhile would count as lost.
RefreshReport make_index(const Paths& made, const Paths& home, Filesystem& filesystem) {
  RefreshReport report;
  Database database(made, OpenMode::create, filesystem);
  database.connection.execute("PRAGMA synchronous=OFF");
  const std::lock_guard lock(database.mutex);
  Transaction transaction(database.connection);
  // Noted before the journals are read: if another machine removes something meanwhile, the mark
  // changes and this index is outdated.
  if (made.shared) note_mark(database.connection, mark_of(home));
  const std::vector<Announcement> waiting =
      made.shared ? waiting_announcements(database) : std::vector<Announcement>();
  std::vector<fs::path> unlisted;
  {
    RebuildLine line;
    enter_runs(database, find_runs(home, &unlisted), report,
               [&](std::size_t done, std::size_t all) { line.show(done, all); });
  }
  report.damage.insert(report.damage.end(), report.lost.begin(), report.lost.end());
  for (const fs::path& directory : unlisted) {
    report.is_whole = false;
    report.damage.push_back(cannot_list(directory));
  }
  enter_new_evaluations(database, report.damage);
  close_ended_journals(database, report.unread);
  note_served(database, waiting, report.unread);
  transaction.commit();
  settle(database.connection);
  return report;
}

/// True if the failure means that the home cannot hold an index, so that one elsewhere helps. False
/// if another process is in the way, in which case the user can wait.
bool is_of_the_disk(const std::exception& failure) {
  const auto* error = dynamic_cast<const Error*>(&failure);
  return dynamic_cast<const fs::filesystem_error*>(&failure) ||
         (error && error->status() == ExitStatus::failed);
}

/// Returns "the journals of 3 runs".
std::string runs_of(const RefreshReport& report) {
  return fmt::format("the journals of {} run{}", report.runs, report.runs == 1 ? "" : "s");
}

void say(const std::string& what, const RefreshReport& report) {
  std::fprintf(stderr, "flor: %s\n", what.c_str());
  for (const std::string& line : report.damage) std::fprintf(stderr, "flor: %s\n", line.c_str());
}

std::string name_of_index(const Paths& paths) {
  return paths.index.empty() ? "of " + paths.home.string() : paths.catalog().string();
}

/// Builds an index for a single command, because the home, or this machine, cannot hold one.
std::unique_ptr<IndexElsewhere> make_index_elsewhere(const Paths& paths, Filesystem& filesystem,
                                                     const std::string& why) {
  try {
    auto made = std::make_unique<IndexElsewhere>(paths, filesystem);
    say(fmt::format("the catalog {} {}: for this command it was made in {} from {}",
                    name_of_index(paths), why, made->paths().catalog().parent_path().string(),
                    runs_of(made->report())),
        made->report());
    return made;
  } catch (const std::exception& failure) {
    if (!is_of_the_disk(failure)) throw;
    throw Error(
        fmt::format("the catalog {} {}, nor elsewhere ({}): set TMPDIR to where there is room",
                    name_of_index(paths), why, failure.what()));
  }
}

}  // namespace

void judge_losses(Database& database, RefreshReport& report) {
  if (report.lost.empty()) return;
  const auto lost = std::exchange(report.lost, {});
  if (!database.paths.shared) {
    report.damage.insert(report.damage.end(), lost.begin(), lost.end());
  } else if (is_current(database.connection, database.paths)) {
    remember_damage(database.paths.catalog());
  }
}

RefreshReport rebuild(const Paths& paths, Filesystem& filesystem) {
  const Paths made = paths.with_new_index();
  DatabaseInTheMaking making(made.catalog());
  RefreshReport report = make_index(made, paths, filesystem);
  making.replace(paths.catalog(), filesystem);
  std::error_code error;
  // An incomplete index stays marked as damaged, so that the next command looks for the rest.
  if (report.is_whole) fs::remove(damage_mark(paths.catalog()), error);
  if (!report.is_whole) remember_damage(paths.catalog());
  // Announced again: otherwise the new index would never look at these runs' journals.
  for (const std::string& key : report.unread) announce(paths, key);
  if (!paths.shared) {
    // Announced, so that their directories are removed.
    for (const std::string& key : report.dropped) announce(paths, key);
  }
  sync_directory(filesystem, paths.catalog().parent_path());
  return report;
}

IndexElsewhere::IndexElsewhere(const Paths& paths, Filesystem& filesystem) : paths_(paths) {
  for (const fs::path& place : {fs::path(), fs::path("/dev/shm")}) {
    try {
      work_.emplace("index", place);
      paths_.index = (work_->path() / Paths::kIndex).string();
      std::optional<RemakingLock> lock;  // held already where the home is not shared
      if (paths.shared) lock.emplace(filesystem, paths_, "catalog", kLongWait);
      report_ = make_index(paths_, paths, filesystem);
      return;
    } catch (const std::exception& failure) {
      if (!is_of_the_disk(failure) || !place.empty()) throw;
    }
  }
}

namespace {

/// True if the index of a shared home need not be rebuilt.
bool is_usable(const Paths& paths) {
  if (look_at(paths.catalog(), kCatalogForm) != FileState::sound) return false;
  try {
    const auto connection = store::open_for_reading(paths, paths.catalog());
    return is_current(*connection, paths);
  } catch (const Error&) {
    return true;  // opening it will report the reason
  }
}

/// Rebuilds this machine's index of a shared home if it is missing, damaged or outdated.
void require_own_index(const Paths& paths, Filesystem& filesystem) {
  if (is_usable(paths)) return;
  const FileState before = look_at(paths.catalog(), kCatalogForm);
  try {
    const RemakingLock lock(filesystem, paths, "catalog",
                            before == FileState::sound ? std::chrono::seconds(0) : kLongWait);
    if (is_usable(paths)) return;  // another process has rebuilt it
    const RefreshReport report = rebuild(paths, filesystem);
    const std::string why =
        before == FileState::sound ? "is outdated, since content of the store was moved or "
                                     "removed: it was made again from "
        : before == FileState::missing
            ? fmt::format(
                  "is this machine's, since {} is on a network file system: it was made from ",
                  paths.home.string())
            : fmt::format("was {}: it was made again from ", name_of(before));
    say(fmt::format("the catalog {} {}{}", paths.catalog().string(), why, runs_of(report)), report);
  } catch (const Busy&) {
    if (before != FileState::sound) throw;
    std::fprintf(
        stderr,
        "flor: another process moves or removes content of %s: what is shown is right, but "
        "some content may not be found: run the command again\n",
        paths.home.c_str());
  }
}

}  // namespace

std::unique_ptr<IndexElsewhere> require_index(const Paths& paths, OpenMode mode,
                                              Filesystem& filesystem, const std::string& no_place) {
  std::error_code error;
  if (fs::exists(snapshot_mark(paths), error)) return nullptr;
  if (paths.shared) {
    std::string why = no_place;
    if (why.empty()) {
      try {
        require_own_index(paths, filesystem);
        return nullptr;
      } catch (const std::exception& failure) {
        if (!is_of_the_disk(failure)) throw;
        why = failure.what();
      }
    }
    return make_index_elsewhere(
        paths, filesystem,
        fmt::format("of this machine cannot be made ({}; FLOR_INDEX may name "
                    "a directory on a local disk)",
                    why));
  }
  const FileState before = look_at(paths.catalog(), kCatalogForm);
  if (before == FileState::sound) return nullptr;
  std::vector<fs::path> unlisted;
  const bool has_journals = !find_runs(paths, &unlisted).empty() ||
                            !find_evaluation_logs(paths).empty() ||
                            fs::exists(paths.queue(), error);
  // An empty index would look like that of a store without recordings.
  if (!has_journals && !unlisted.empty()) {
    throw Error(fmt::format("the catalog {} is {}, and {}", paths.catalog().string(),
                            name_of(before), cannot_list(unlisted.front())));
  }
  if (before == FileState::older && !has_journals) {
    throw Error(
        fmt::format("the store {} has the form of an older Flor, which this one does not read: "
                    "record into another one (--flor_home or FLOR_HOME)",
                    paths.home.string()));
  }
  // Opening the store creates an empty index, or reports that there is no store.
  if (!has_journals) return nullptr;
  try {
    const RemakingLock lock(filesystem, paths, "catalog");
    if (look_at(paths.catalog(), kCatalogForm) == FileState::sound)
      return nullptr;  // another process has rebuilt it
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

namespace {

/// Opens the lock file. A user who may not write to the home opens the existing one for reading.
std::unique_ptr<File> open_lock(Filesystem& filesystem, const fs::path& path) {
  try {
    return std::make_unique<File>(filesystem, path, O_RDWR | O_CREAT, kInHome);
  } catch (const Error&) {
    std::error_code error;
    if (::access(path.parent_path().c_str(), W_OK) == 0) throw;
    return fs::exists(path, error) ? std::make_unique<File>(filesystem, path, O_RDONLY) : nullptr;
  }
}

}  // namespace

RemakingLock::RemakingLock(Filesystem& filesystem, const Paths& paths, const char* what,
                           std::chrono::seconds patience) {
  constexpr std::chrono::milliseconds kPause{100};
  const bool is_own = paths.shared && what == std::string_view("catalog");
  const auto lock = [&](const fs::path& path, int operation, std::chrono::seconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    std::unique_ptr<File> file =
        is_own ? open_lock(filesystem, path)
               : std::make_unique<File>(filesystem, path, O_RDWR | O_CREAT, kInHome);
    while (file && !lock_file(file->descriptor(), operation | LOCK_NB)) {
      if (std::chrono::steady_clock::now() >= end) {
        throw Busy(
            fmt::format("the {} of {} is to be made again, and another process collects "
                        "garbage, repairs, or does that already: wait for it",
                        what, paths.home.string()));
      }
      std::this_thread::sleep_for(kPause);
    }
    files_.push_back(std::move(file));
  };
  // Machines may build their indexes at the same time; the shared lock prevents that records are
  // moved meanwhile.
  if (is_own) lock(paths.catalog().parent_path() / "making.lock", LOCK_EX, kLongWait);
  lock(paths.maintenance_lock(), is_own ? LOCK_SH : LOCK_EX, patience);
}

bool put_index_aside(const Paths& paths) {
  if (look_at(paths.catalog(), kCatalogForm) == FileState::sound) return false;
  put_database_aside(paths.catalog());
  std::error_code error;
  fs::remove(paths.catalog(), error);
  return true;
}

}  // namespace flor::store
