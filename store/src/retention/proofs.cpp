#include "retention/proofs.h"

#include "database/open_file.h"
#include "database/store_impl.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "retention/awaited.h"
#include "retention/retention.h"
#include "retention/retention_units.h"
#include "retention/walks.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>
#include <flor/store/store.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;
using Group = Candidate::Group;

/// Names as a set can hold them.
using Named = std::set<std::pair<std::string, Digest>>;

std::pair<std::string, Digest> entry_of(const CheckpointName& name) {
  const CheckpointKey& key = name.key;
  return {fmt::format("{} {} {} {}", static_cast<int>(key.kind), key.main_loop, key.iteration,
                      key.loop),
          name.digest};
}

/// The epochs that must stay whatever can be computed again.
std::set<std::int64_t> epochs_that_stay(Database& database, Connection& connection,
                                        std::int64_t run, std::vector<LoadedUnit>& units) {
  mark_awaited(database, connection, {run}, units);
  std::set<std::int64_t> stay;
  for (const LoadedUnit& unit : units) {
    const Candidate& candidate = unit.unit.candidate;
    if (candidate.group != Group::epoch) continue;
    if (candidate.needed || candidate.awaited || !unit.state) stay.insert(candidate.number);
  }
  return stay;
}

/// The names of the checkpoints of a unit.
std::vector<CheckpointName> names_of(Connection& connection, const RetainedUnit& unit) {
  std::vector<CheckpointName> names;
  for (const std::int64_t id : unit.checkpoints) {
    names.push_back(name_checkpoint(connection, id).name);
  }
  return names;
}

struct PlannedLoop {
  std::int64_t first_epoch = 0;
  WalkedLoop walked;
};

std::map<std::int64_t, PlannedLoop> load_loops(const Catalog& catalog, std::int64_t run) {
  std::map<std::int64_t, PlannedLoop> loops;
  for (const MainLoop& loop : catalog.main_loops(run)) {
    PlannedLoop& planned = loops[loop.ordinal];
    planned.first_epoch = loop.first_epoch;
  }
  for (const Iteration& iteration : catalog.iterations(run)) {
    std::vector<double>& seconds = loops[iteration.main_loop].walked.seconds;
    const auto at = static_cast<std::size_t>(iteration.iteration);
    if (seconds.size() <= at) seconds.resize(at + 1);
    seconds[at] = iteration.seconds;
  }
  const std::optional<Fork> fork = catalog.fork(run);
  for (const CheckpointInfo& info : catalog.checkpoints(run)) {
    const CheckpointKey& key = info.key;
    if (key.kind != CheckpointKind::boundary) continue;
    WalkedLoop& walked = loops[key.main_loop].walked;
    if (fork && fork->is_others(key.main_loop, key.iteration)) continue;
    walked.starts.insert(key.iteration);
    if (key.iteration == 0) walked.stay.insert(0);
  }
  return loops;
}

/// The epoch that is the best by the run's own strategy.
std::optional<std::int64_t> best_epoch(const Store& store, std::int64_t run) {
  const auto strategy = store.catalog().strategy(run);
  if (!strategy || strategy->score_attribute.empty()) return std::nullopt;
  const auto best = best_checkpoint(store, run, *strategy);
  return best && best->group == Group::epoch ? std::optional(best->number) : std::nullopt;
}

void keep_portable(std::map<std::int64_t, PlannedLoop>& loops, std::int64_t count) {
  std::set<std::int64_t> epochs;
  for (const auto& [ordinal, loop] : loops) {
    for (const std::int64_t start : loop.walked.starts) {
      if (start > 0) epochs.insert(loop.first_epoch + start - 1);
    }
  }
  for (const std::int64_t epoch : spread_over(epochs, count)) {
    for (auto& [ordinal, loop] : loops) {
      const std::int64_t start = epoch - loop.first_epoch + 1;
      if (start > 0 && loop.walked.starts.contains(start)) loop.walked.stay.insert(start);
    }
  }
}

void check_run(const Store& store, std::int64_t id) {
  const auto run = store.catalog().run(id);
  if (!run) throw NotFound("the run was removed");
  const std::string key = run->key.substr(0, 8);
  if (run->start.rank) {
    throw UsageError(fmt::format(
        "run {} is a rank of a group, whose checkpoints all stay: archive it without --prove",
        key));
  }
  if (run->state == RunState::running) {
    throw Busy(fmt::format("run {} is still being recorded: archive it when it has ended", key));
  }
}

}  // namespace

WalkPlan plan_walks(const Store& store, std::int64_t run, const WalkWish& wish) {
  check_run(store, run);
  std::map<std::int64_t, PlannedLoop> loops = load_loops(store.catalog(), run);
  const std::optional<std::int64_t> best = best_epoch(store, run);
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow_evaluations(database);
  const ReadTransaction transaction(database.connection);
  std::vector<LoadedUnit> units = load_own_units(database.connection, run);
  std::set<std::int64_t> stay = epochs_that_stay(database, database.connection, run, units);
  if (best) stay.insert(*best);
  for (auto& [ordinal, loop] : loops) {
    for (const std::int64_t start : loop.walked.starts) {
      if (stay.contains(loop.first_epoch + start - 1)) loop.walked.stay.insert(start);
    }
  }
  keep_portable(loops, wish.portable);
  WalkPlan plan;
  std::map<std::int64_t, WalkStart> goes;  // by epoch
  for (const auto& [ordinal, loop] : loops) {
    const std::set<std::int64_t> starts = starts_of_walks(loop.walked, wish.within);
    for (const std::int64_t start : starts) plan.starts.push_back({ordinal, start});
    plan.longest = std::max(plan.longest, longest_walk(loop.walked, starts));
    for (const std::int64_t start : loop.walked.starts) {
      if (!starts.contains(start)) goes[loop.first_epoch + start - 1] = {ordinal, start};
    }
  }
  for (const LoadedUnit& unit : units) {
    if (unit.unit.candidate.group != Group::epoch) continue;
    ++plan.stored;
    const std::int64_t epoch = unit.unit.candidate.number;
    const auto gone = goes.find(epoch);
    if (gone == goes.end() || stay.contains(epoch)) continue;
    plan.units.push_back({gone->second, epoch, names_of(database.connection, unit.unit)});
  }
  return plan;
}

namespace {

ProofEvent event_of(const Proof& proof) {
  ProofEvent event{.replay = proof.replay, .checkpoints = {}, .environment = proof.environment};
  event.checkpoints.assign(proof.checkpoints.begin(), proof.checkpoints.end());
  return event;
}

/// Everything that this replay has proven so far.
Named named_by(Connection& connection, std::int64_t run, const std::string& replay) {
  Named named;
  const auto rows =
      connection("SELECT event FROM proof WHERE run = ?1 AND replay = ?2", run, replay);
  while (rows->step()) {
    for (const CheckpointName& name : decode_event<ProofEvent>(rows->blob(0)).checkpoints) {
      named.insert(entry_of(name));
    }
  }
  return named;
}

/// Whether all that is stored of the epoch is proven, and is what was planned.
bool is_proven(Connection& connection, const RetainedUnit& unit, const Named& proven) {
  const std::vector<CheckpointName> names = names_of(connection, unit);
  return std::ranges::all_of(
      names, [&](const CheckpointName& name) { return proven.contains(entry_of(name)); });
}

}  // namespace

std::int64_t drop_proven(Store& store, std::int64_t run, const WalkPlan& plan, const Proof& proof) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const std::optional<std::int64_t> best = best_epoch(store, run);
  follow_evaluations(database);
  std::set<std::int64_t> planned;
  for (const WalkPlan::Unit& unit : plan.units) planned.insert(unit.epoch);
  Writing writing(database);
  Connection& connection = writing.connection();
  writing.add(run, event_of(proof));
  const Named proven = named_by(connection, run, proof.replay);
  std::vector<LoadedUnit> units = load_own_units(connection, run);
  std::set<std::int64_t> stay = epochs_that_stay(database, connection, run, units);
  if (best) stay.insert(*best);
  std::vector<std::int64_t> gone;
  std::int64_t dropped = 0;
  for (const LoadedUnit& unit : units) {
    const Candidate& candidate = unit.unit.candidate;
    const bool may_go = candidate.group == Group::epoch && planned.contains(candidate.number) &&
                        !stay.contains(candidate.number);
    if (!may_go || !is_proven(connection, unit.unit, proven)) continue;
    gone.insert(gone.end(), unit.unit.checkpoints.begin(), unit.unit.checkpoints.end());
    ++dropped;
  }
  if (!gone.empty()) discard_checkpoints(writing, gone);
  writing.commit();
  return dropped;
}

std::vector<Proof> proofs(const Store& store, std::int64_t run) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const ReadTransaction transaction(database.connection);
  return load_proofs(database.connection, run);
}

std::vector<Proof> load_proofs(Connection& connection, std::int64_t run) {
  if (!has_table(connection, "proof")) return {};
  Named gone;
  const auto deleted = connection(
      "SELECT kind, main_loop, iteration, loop, digest FROM discarded WHERE run = ?1", run);
  while (deleted->step()) {
    gone.insert(entry_of({{static_cast<CheckpointKind>(deleted->integer(0)), deleted->integer(1),
                           deleted->integer(2), deleted->text(3)},
                          deleted->digest(4)}));
  }
  std::vector<Proof> all;
  if (gone.empty()) return all;
  const auto rows = connection("SELECT event FROM proof WHERE run = ?1 ORDER BY id", run);
  while (rows->step()) {
    auto event = decode_event<ProofEvent>(rows->blob(0));
    Proof proof{std::move(event.replay), {}, std::move(event.environment)};
    for (CheckpointName& name : event.checkpoints) {
      if (gone.contains(entry_of(name))) proof.checkpoints.push_back(std::move(name));
    }
    if (!proof.checkpoints.empty()) all.push_back(std::move(proof));
  }
  return all;
}

std::string key_of_replay(const Store& store, std::int64_t replay) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  return replay_key(database.connection, replay);
}

}  // namespace flor::store
