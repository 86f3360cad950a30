#include "retention/awaited.h"

#include "checkpoint/named_checkpoints.h"
#include "queue/queue_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace flor::store {
namespace {

using Group = Candidate::Group;

/// The checkpoints of a run that a living watch watches.
struct LiveWatch {
  std::string place, spec;
  std::string run;  ///< key of the run
};

std::vector<LiveWatch> live_watches(QueueFile& queue, Connection& index,
                                    const std::vector<std::int64_t>& runs) {
  std::vector<LiveWatch> watches;
  for (const std::int64_t run : runs) {
    const auto named = index(
        "SELECT key, name FROM run JOIN experiment ON experiment.id = run.experiment WHERE run.id "
        "= ?1",
        run);
    if (!named->step()) continue;
    // A watch of an experiment looks only at rank 0 of each group.
    const auto rows = queue.connection(
        "SELECT watcher, place, spec FROM watcher_place WHERE place = 'run ' || ?1 OR (?3 AND "
        "place = 'experiment ' || ?2)",
        named->text_view(0), named->text_view(1), run == runs.front());
    while (rows->step()) {
      if (is_locked(queue, rows->text_view(0))) {
        watches.push_back({rows->text(1), rows->text(2), named->text(0)});
      }
    }
  }
  return watches;
}

/// Returns the evaluators that living processes use for these runs: those of the watches, and those
/// of processes that score checkpoints found by others.
std::set<std::string> live_specs(QueueFile& queue, const std::vector<LiveWatch>& watches) {
  std::set<std::string> specs;
  for (const LiveWatch& watch : watches) specs.insert(watch.spec);
  const auto rows =
      queue.connection("SELECT DISTINCT watcher, spec FROM watcher_place WHERE place = ''");
  while (rows->step()) {
    if (is_locked(queue, rows->text_view(0))) specs.insert(rows->text(1));
  }
  return specs;
}

/// True if a job for the unit is waiting. A job for an older version of an evaluator counts only if
/// a living process still uses that version or will take the job over. The version of the newest
/// job is the current one, because an edit may have been undone.
bool has_open_job(QueueFile& queue, Connection& index, const RetainedUnit& unit,
                  const std::set<std::string>& live) {
  return std::ranges::any_of(unit.checkpoints, [&](std::int64_t id) {
    const auto row = index("SELECT digest FROM checkpoint WHERE id = ?1", id);
    if (!row->step()) return false;
    const Digest content = row->digest(0);
    const auto jobs = queue.connection(
        "SELECT spec, state = 1 OR evaluator.id = (SELECT newest.evaluator FROM job AS newest "
        "JOIN evaluator AS same ON same.id = newest.evaluator WHERE same.spec = evaluator.spec "
        "ORDER BY newest.id DESC LIMIT 1) FROM job JOIN evaluator ON evaluator.id = job.evaluator "
        "WHERE content = ?1 AND state IN (0, 1, 2)",
        content);
    while (jobs->step()) {
      if (jobs->integer(1) != 0 || live.contains(jobs->text(0))) return true;
    }
    return false;
  });
}

bool was_seen(QueueFile& queue, const LiveWatch& watch, const RetainedUnit& unit) {
  const bool saved = unit.candidate.group == Group::saved;
  const std::string reference =
      saved ? watch.run + "@" + unit.name : fmt::format("{}@{}", watch.run, unit.candidate.number);
  const auto rows = queue.connection(
      "SELECT inode FROM sighting JOIN watch ON watch.id = watch WHERE directory = ?1 AND spec = "
      "?2 AND path = ?3",
      watch.place, watch.spec, reference);
  while (rows->step()) {
    // A checkpoint that was taken again has another id.
    if (std::ranges::count(unit.checkpoints, rows->integer(0)) > 0) return true;
  }
  return false;
}

}  // namespace

void mark_awaited(Database& database, Connection& connection, const std::vector<std::int64_t>& runs,
                  std::span<LoadedUnit> units) {
  const auto open = queue_of(database, QueueUse::look);
  QueueFile& queue = *open;
  const std::lock_guard lock(queue.mutex);
  const ReadTransaction transaction(queue.connection);
  const std::vector<LiveWatch> watches = live_watches(queue, connection, runs);
  const bool has_jobs =
      queue
          .connection(
              "SELECT 1 FROM job WHERE state IN (0, 2) UNION ALL SELECT 1 FROM job WHERE state = 1")
          ->step();
  const auto live = has_jobs ? live_specs(queue, watches) : std::set<std::string>();
  for (LoadedUnit& loaded : units) {
    RetainedUnit& unit = loaded.unit;
    if (!loaded.state) continue;
    unit.candidate.awaited = (has_jobs && has_open_job(queue, connection, unit, live)) ||
                             std::ranges::any_of(watches, [&](const LiveWatch& watch) {
                               return !was_seen(queue, watch, unit);
                             });
  }
}

}  // namespace flor::store
