#include "retention/awaited.h"

#include "checkpoint/named_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace flor::store {
namespace {

using Group = Candidate::Group;

/// A watch of a run, whose process lives.
struct LiveWatch {
  std::string place, spec;
  std::string run;  ///< key
};

std::vector<LiveWatch> live_watches(const Database& database, Connection& connection,
                                    const std::vector<std::int64_t>& runs) {
  std::vector<LiveWatch> watches;
  for (const std::int64_t run : runs) {
    // An experiment is watched for rank 0 of its groups.
    const auto rows = connection(
        "SELECT watcher, place, spec, run.key FROM run JOIN experiment ON experiment.id = "
        "run.experiment "
        "JOIN watcher_place ON place = 'run ' || key OR (?2 AND place = 'experiment ' || name) "
        "WHERE run.id = ?1",
        run, run == runs.front());
    while (rows->step()) {
      if (is_locked(database, rows->text_view(0))) {
        watches.push_back({rows->text(1), rows->text(2), rows->text(3)});
      }
    }
  }
  return watches;
}

/// Evaluators that somebody judges the runs with: who watches them, and who judges what others
/// find.
std::set<std::string> live_specs(const Database& database, Connection& connection,
                                 const std::vector<LiveWatch>& watches) {
  std::set<std::string> specs;
  for (const LiveWatch& watch : watches) specs.insert(watch.spec);
  const auto rows = connection("SELECT DISTINCT watcher, spec FROM watcher_place WHERE place = ''");
  while (rows->step()) {
    if (is_locked(database, rows->text_view(0))) specs.insert(rows->text(1));
  }
  return specs;
}

/// What waits for an evaluator that was edited since, nobody judges as it was: that counts only
/// while somebody is there who takes it over, or still has the old one. An evaluator is now what it
/// was when its newest job was added: it may have been edited back.
bool has_open_job(Connection& connection, const RetainedUnit& unit,
                  const std::set<std::string>& live) {
  return std::ranges::any_of(unit.checkpoints, [&](std::int64_t id) {
    const auto jobs = connection(
        "SELECT spec, state = 1 OR evaluator.id = (SELECT newest.evaluator FROM job AS newest "
        "JOIN evaluator AS same ON same.id = newest.evaluator WHERE same.spec = evaluator.spec "
        "ORDER BY newest.id DESC LIMIT 1) FROM checkpoint "
        "JOIN job ON content = checkpoint.digest JOIN evaluator ON evaluator.id = job.evaluator "
        "WHERE checkpoint.id = ?1 AND state IN (0, 1, 2)",
        id);
    while (jobs->step()) {
      if (jobs->integer(1) != 0 || live.contains(jobs->text(0))) return true;
    }
    return false;
  });
}

bool was_seen(Connection& connection, const LiveWatch& watch, const RetainedUnit& unit) {
  const bool saved = unit.candidate.group == Group::saved;
  const std::string reference =
      saved ? watch.run + "@" + unit.name : fmt::format("{}@{}", watch.run, unit.candidate.number);
  const auto rows = connection(
      "SELECT inode FROM sighting JOIN watch ON watch.id = watch WHERE directory = ?1 AND spec = "
      "?2 AND path = ?3",
      watch.place, watch.spec, reference);
  while (rows->step()) {
    // One that was taken anew has another number.
    if (std::ranges::count(unit.checkpoints, rows->integer(0)) > 0) return true;
  }
  return false;
}

}  // namespace

void mark_awaited(const Database& database, Connection& connection,
                  const std::vector<std::int64_t>& runs, std::span<LoadedUnit> units) {
  const std::vector<LiveWatch> watches = live_watches(database, connection, runs);
  const bool has_jobs =
      connection(
          "SELECT 1 FROM job WHERE state IN (0, 2) UNION ALL SELECT 1 FROM job WHERE state = 1")
          ->step();
  const auto live = has_jobs ? live_specs(database, connection, watches) : std::set<std::string>();
  for (LoadedUnit& loaded : units) {
    RetainedUnit& unit = loaded.unit;
    if (!loaded.state) continue;
    unit.candidate.awaited = (has_jobs && has_open_job(connection, unit, live)) ||
                             std::ranges::any_of(watches, [&](const LiveWatch& watch) {
                               return !was_seen(connection, watch, unit);
                             });
  }
}

}  // namespace flor::store
