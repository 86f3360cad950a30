#include "maintain/removed_runs.h"

#include "base/system_error.h"
#include "file/home_files.h"
#include "file/lock_file.h"
#include "index/catalog/labels.h"
#include "index/writing.h"
#include "retention/removal.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::store {
namespace {

/// The lock of a run. The lock file is deleted when the lock is released.
class Held {
 public:
  /// Returns null while another process has the lock.
  static std::unique_ptr<Held> take(Database& database, const std::string& key) {
    auto held = std::make_unique<Held>(database, key);
    const int descriptor = held->file_.descriptor();
    if (!lock_file(descriptor, LOCK_EX | LOCK_NB) || !is_linked(descriptor)) return nullptr;
    held->owned_ = true;
    return held;
  }
  Held(Database& database, const std::string& key)
      : database_(database),
        file_(database.files, database.paths.lock(key), O_RDWR | O_CREAT, kInHome) {}
  ~Held() {
    if (owned_) database_.files.unlink(file_.path().c_str());
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Database& database_;
  File file_;
  bool owned_ = false;
};

/// Returns the removed runs, grouped by the run that has the label. In a group the highest rank
/// comes first and rank 0, which the others depend on, last.
std::map<std::int64_t, std::vector<std::int64_t>> removed_groups(Connection& connection) {
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  const auto rows = connection(
      "SELECT coalesce(leader.id, run.id), run.id FROM run LEFT JOIN rank_run ON rank_run.run = "
      "run.id LEFT JOIN run AS leader ON leader.id = rank_run.leader WHERE run.id "
      "IN " FLOR_REMOVED_RUNS "ORDER BY rank_run.rank DESC, run.id");
  while (rows->step()) groups[rows->integer(0)].push_back(rows->integer(1));
  return groups;
}

std::string key_of_removed(Connection& connection, std::int64_t run) {
  const auto row = connection("SELECT key FROM run WHERE id = ?1", run);
  return row->step() ? row->text(0) : std::string();
}

/// True if another process writes a journal. It may name objects that no value in the index refers
/// to yet.
bool is_recording(Database& database) {
  const auto rows = database.connection(
      "SELECT run, writer, run.key FROM journal JOIN run ON run.id = journal.run WHERE NOT closed");
  while (rows->step()) {
    const auto own = database.journals.find(rows->integer(0));
    if (own != database.journals.end() && own->second->number() == rows->integer(1)) continue;
    const auto journal =
        journal_in(database.paths.run(rows->text_view(2)) / std::to_string(rows->integer(1)));
    if (is_written(database.files, journal)) return true;
  }
  return false;
}

struct InUse {};

/// Drops a run and, in the same transaction, the objects that only it has logged. Throws InUse if a
/// program may be about to log the same objects.
void drop_with_objects(Database& database, std::int64_t run) {
  drop_run(database, run, [&](Connection& connection) {
    const ContentOfRuns content = content_of(connection, {run});
    if (!content.objects.empty() && is_recording(database)) throw InUse();
    for (const std::int64_t id : content.objects) {
      connection("DELETE FROM object WHERE id = ?1", id)->run();
    }
  });
}

/// Locks all ranks of a group. Returns nullopt if one of them is in use.
std::optional<std::vector<std::unique_ptr<Held>>> take_all(Database& database,
                                                           const std::vector<std::string>& keys) {
  std::vector<std::unique_ptr<Held>> locks;
  for (const std::string& key : keys) {
    auto held = Held::take(database, key);
    if (!held || is_used(database, key)) return std::nullopt;
    locks.push_back(std::move(held));
  }
  return locks;
}

std::string is_used_line(const std::string& key) {
  return fmt::format("run {} was removed and is in use: it is left as it is", key);
}

void drop_group(Database& database, std::int64_t labelled, const std::vector<std::int64_t>& ranks,
                CollectReport& report) {
  std::vector<std::string> keys;
  for (const std::int64_t rank : ranks) keys.push_back(key_of_removed(database.connection, rank));
  const auto locks = take_all(database, keys);
  if (!locks) return report.remarks.push_back(is_used_line(keys.back()));
  try {
    if (ranks.size() > 1) {
      Writing writing(database);
      const ContentOfRuns all = content_of(writing.connection(), {ranks.begin(), ranks.end()});
      if (!all.objects.empty() && is_recording(database)) throw InUse();
      say_label(writing, labelled, LabelKind::removed, "", kBeingDropped);
      writing.commit();
    }
    for (const std::int64_t rank : ranks) {
      drop_with_objects(database, rank);
      ++report.runs;
    }
  } catch (const InUse&) {
    report.remarks.push_back(
        fmt::format("run {} was removed and has logged tensors or images: it is left as it is "
                    "while a program records",
                    keys.back()));
  }
}

}  // namespace

void drop_removed_runs(Database& database, CollectReport& report) {
  const std::lock_guard lock(database.mutex);
  try {
    for (const auto& [labelled, ranks] : removed_groups(database.connection)) {
      drop_group(database, labelled, ranks, report);
    }
  } catch (const std::exception& error) {
    if (!is_no_space(error)) throw;
    report.remarks.emplace_back("removed runs stay until the disk has room to say that they go");
  }
}

void leave_out_removed(Database& database, Connection& connection, Marks& marks,
                       CollectReport& report) {
  if (!has_table(connection, "label")) return;
  std::set<std::int64_t> runs;
  for (const auto& [labelled, ranks] : removed_groups(connection)) {
    const auto is_busy = [&](std::int64_t rank) {
      const std::string key = key_of_removed(connection, rank);
      return is_locked(database, key) || is_used(database, key);
    };
    if (std::ranges::any_of(ranks, is_busy)) {
      report.remarks.push_back(is_used_line(key_of_removed(connection, ranks.back())));
    } else {
      runs.insert(ranks.begin(), ranks.end());
    }
  }
  report.runs = static_cast<std::int64_t>(runs.size());
  if (runs.empty()) return;
  ContentOfRuns content = content_of(connection, runs);
  marks.leave_out(std::move(content.checkpoints), std::move(content.objects));
}

}  // namespace flor::store
