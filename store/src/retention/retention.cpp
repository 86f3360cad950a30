// Implements `retain`: decides over a run's checkpoints, and moves the rows of deleted ones to
// `discarded`.
#include "retention/retention.h"

#include "database/manifest.h"
#include "database/reserve.h"
#include "database/store_impl.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/refresh.h"
#include "index/writing.h"
#include "lock/maintenance_lock.h"
#include "retention/awaited.h"
#include "retention/chunk_sizes.h"
#include "retention/proofs.h"
#include "retention/retention_units.h"

#include <flor/store/error.h>
#include <flor/store/store.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;
using Group = Candidate::Group;

/// If no rule names a metric, adds the one of the run's strategy, to determine the best.
KeepRules with_strategy(KeepRules rules, const std::optional<CheckpointStrategy>& strategy) {
  if (rules.best.empty() && strategy && !strategy->score_attribute.empty()) {
    rules.best.push_back(
        {.metric = strategy->score_attribute, .order = strategy->score_order, .implied = true});
  }
  return rules;
}

/// Weighs the chunks of the units. Chunks that other runs need are counted separately, because
/// deleting units does not free them. Checkpoints of these runs that are not candidates are needed
/// but never deleted, so their chunks are treated like those of other runs.
class Weight final : public Weigher {
 public:
  Weight(Connection& connection, const RunsTogether& together, std::vector<LoadedUnit>& units)
      : sizes_(connection), use_(sizes_), chunks_(units.size()) {
    std::unordered_map<std::int64_t, std::size_t> unit_of;
    for (std::size_t i = 0; i < units.size(); ++i) {
      for (const std::int64_t id : units[i].unit.checkpoints) unit_of.emplace(id, i);
    }
    std::vector<std::uint32_t> fixed;
    const auto rows = connection("SELECT id, run, chunks FROM checkpoint");
    while (rows->step()) {
      const std::vector<std::uint32_t> ids = decode_ids(rows->blob(2));
      if (const auto unit = unit_of.find(rows->integer(0)); unit != unit_of.end()) {
        auto& chunks = chunks_[unit->second];
        chunks.insert(chunks.end(), ids.begin(), ids.end());
        continue;
      }
      for (const std::uint32_t id : ids) use_.need_for_good(id);
      if (std::ranges::count(together.runs, rows->integer(1)) > 0)
        fixed.insert(fixed.end(), ids.begin(), ids.end());
    }
    const auto objects = connection("SELECT chunks FROM object");
    while (objects->step()) {
      for (const std::uint32_t id : decode_ids(objects->blob(0))) use_.need_for_good(id);
    }
    for (const std::uint32_t id : fixed) use_.need(id);
    for (const auto& chunks : chunks_) need(chunks);
    before_ = use_.needed();
    exclusive_before_ = use_.exclusive();
    for (std::size_t i = 0; i < units.size(); ++i) units[i].unit.frees = alone(i);
  }

  std::uint64_t bytes() const override { return use_.needed(); }
  void drop(std::size_t candidate) override {
    for (const std::uint32_t id : chunks_[candidate]) use_.give_up(id);
  }

  std::uint64_t before() const { return before_; }
  std::uint64_t freed() const { return exclusive_before_ - use_.exclusive(); }

 private:
  void need(const std::vector<std::uint32_t>& chunks) {
    for (const std::uint32_t id : chunks) use_.need(id);
  }
  std::uint64_t alone(std::size_t candidate) {
    drop(candidate);
    const std::uint64_t frees = freed();
    need(chunks_[candidate]);
    return frees;
  }

  ChunkSizes sizes_;
  ChunkUse use_;
  std::vector<std::vector<std::uint32_t>> chunks_;  ///< by unit
  std::uint64_t before_ = 0, exclusive_before_ = 0;
};

/// The deletions to make, decided on one state of the catalog.
class DeletionPlan {
 public:
  DeletionPlan(Database& database, Connection& connection, std::int64_t run, const KeepRules& rules,
               bool weighed)
      : together_(runs_together(connection, run)), units_(load_units(connection, run)) {
    mark_awaited(database, connection, together_.runs, units_);
    report_.rules = rules;
    std::vector<Candidate> candidates;
    for (const BestRule& rule : rules.best) {
      const std::vector<Score> scores = load_scores(connection, rule.metric, units_);
      for (std::size_t i = 0; i < units_.size(); ++i) {
        units_[i].unit.candidate.scores.push_back(scores[i]);
      }
    }
    for (const LoadedUnit& unit : units_) candidates.push_back(unit.unit.candidate);
    std::optional<Weight> weight;
    if (weighed) weight.emplace(connection, together_, units_);
    Decisions decisions = decide(candidates, rules, weight ? &*weight : nullptr);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      units_[i].unit.decision = std::move(decisions.by_candidate[i]);
      ++(units_[i].unit.decision.kept ? report_.kept : report_.deleted);
    }
    report_.fits = decisions.fits;
    if (!weight) return;
    report_.before = weight->before();
    report_.after = weight->bytes();
    report_.freed = weight->freed();
  }

  std::int64_t deleted() const { return report_.deleted; }

  /// Deletes the first `most` of the units that are not kept. Returns how many were deleted.
  std::int64_t discard(Writing& writing, std::int64_t most) const {
    if (report_.deleted == 0) return 0;
    std::vector<std::int64_t> gone;
    std::int64_t done = 0;
    for (const LoadedUnit& unit : units_) {
      if (unit.unit.decision.kept) continue;
      if (done == most) break;
      gone.insert(gone.end(), unit.unit.checkpoints.begin(), unit.unit.checkpoints.end());
      ++done;
    }
    discard_checkpoints(writing, gone);
    return done;
  }

  RetentionReport report() && {
    for (LoadedUnit& unit : units_) report_.units.push_back(std::move(unit.unit));
    return std::move(report_);
  }

 private:
  RunsTogether together_;
  std::vector<LoadedUnit> units_;
  RetentionReport report_;
};

/// Deletes units of a run, as many in one transaction as the disk has room for.
class Deletion {
 public:
  Deletion(Database& database, std::int64_t run, const KeepRules& rules, bool weighed)
      : database_(database), run_(run), rules_(rules), weighed_(weighed) {}

  /// Can be called again after the disk was full.
  void operator()() {
    std::int64_t at_once = std::numeric_limits<std::int64_t>::max();
    do {
      std::int64_t wanted = at_once;
      try {
        step(at_once, wanted);
        if (at_once < kMost) at_once *= 2;
      } catch (const std::exception& error) {
        if (!is_no_space(error) || std::min(at_once, wanted) <= 1) throw;
        at_once = std::max<std::int64_t>(1, std::min(at_once, wanted) / 8);
      }
    } while (!report_ || report_->left > 0);
  }

  bool has_begun() const { return report_.has_value(); }
  RetentionReport report() && { return *std::move(report_); }

 private:
  static constexpr std::int64_t kMost = 1 << 20;

  /// Decides and deletes in one transaction, because another process may be deleting by other
  /// rules.
  void step(std::int64_t most, std::int64_t& wanted) {
    const Lock lock(database_.mutex);
    if (most <= kMost) database_.connection.truncate_log();
    follow_evaluations(database_);
    Writing writing(database_);
    DeletionPlan plan(database_, database_.connection, run_, rules_, weighed_);
    wanted = plan.deleted();
    const std::int64_t done = plan.discard(writing, most);
    writing.commit();
    // The report has the sizes from before the first deletion.
    if (!report_) report_ = std::move(plan).report();
    report_->left = wanted - done;
  }

  Database& database_;
  std::int64_t run_;
  const KeepRules& rules_;
  bool weighed_;
  std::optional<RetentionReport> report_;
};

void check_metrics(Connection& connection, std::int64_t run, const KeepRules& rules) {
  run = runs_together(connection, run).runs.front();
  for (const BestRule& rule : rules.best) check_metric(connection, run, rule.metric);
}

/// A deleted checkpoint (row of `discarded`) that is to be restored.
struct Wanted {
  std::int64_t id = 0;
  std::int64_t layout = 0;
  std::vector<std::uint32_t> chunks;
  bool collected = false;
};

bool has_content(Connection& connection, const Wanted& wanted) {
  if (!connection("SELECT 1 FROM layout WHERE id = ?1", wanted.layout)->step()) return false;
  return std::ranges::all_of(wanted.chunks, [&](std::uint32_t id) {
    return connection("SELECT 1 FROM chunk WHERE id = ?1", std::int64_t{id})->step();
  });
}

std::vector<Wanted> find_discarded(Connection& connection, std::int64_t run,
                                   std::optional<std::int64_t> epoch, std::string_view saved) {
  std::map<std::int64_t, std::int64_t> first_epochs;
  const auto loops = connection("SELECT ordinal, first_epoch FROM main_loop WHERE run = ?1", run);
  while (loops->step()) first_epochs[loops->integer(0)] = loops->integer(1);
  std::vector<Wanted> list;
  const auto rows = connection(
      "SELECT id, kind, main_loop, iteration, loop, layout, chunks, collected_us FROM discarded "
      "WHERE run = ?1",
      run);
  while (rows->step()) {
    const CheckpointKey key{static_cast<CheckpointKind>(rows->integer(1)), rows->integer(2),
                            rows->integer(3), rows->text(4)};
    const bool is_saved = key.kind == CheckpointKind::saved;
    const bool at_end = key.kind == CheckpointKind::boundary || key.loop.ends_with("@begin");
    const std::int64_t of = first_epochs[key.main_loop] + key.iteration - (at_end ? 1 : 0);
    if (epoch && (is_saved || of != *epoch)) continue;
    if (!saved.empty() && !(is_saved && key.loop == saved)) continue;
    list.push_back(
        {rows->integer(0), rows->integer(5), decode_ids(rows->blob(6)), !rows->is_null(7)});
  }
  return list;
}

std::int64_t count_checkpoints(Connection& connection, std::int64_t run) {
  const auto row = connection("SELECT count(*) FROM checkpoint WHERE run = ?1", run);
  row->step();
  return row->integer(0);
}

void restore(Writing& writing, std::int64_t run, const std::vector<Wanted>& list,
             RestoreReport& report) {
  UndiscardEvent event;
  for (const Wanted& wanted : list) {
    if (wanted.collected || !has_content(writing.connection(), wanted)) {
      ++report.collected;
    } else {
      event.checkpoints.push_back(name_discarded(writing.connection(), wanted.id).name);
    }
  }
  if (event.checkpoints.empty()) return;
  const std::int64_t before = count_checkpoints(writing.connection(), run);
  writing.add(run, event);
  report.restored += count_checkpoints(writing.connection(), run) - before;
}

FoundCheckpoint found(const LoadedUnit& unit, const Score& score) {
  return {unit.unit.candidate.group, unit.unit.candidate.number, unit.unit.name, score,
          unit.state.value_or(0)};
}

/// Returns the stored states of a run: saved checkpoints if there are any, otherwise epochs; or
/// those of `group`, if given.
std::vector<LoadedUnit> stored_units(Connection& connection, std::int64_t run,
                                     std::optional<Group> group = {}) {
  std::vector<LoadedUnit> units = load_own_units(connection, run);
  const bool has_saved = std::ranges::any_of(
      units, [](const LoadedUnit& unit) { return unit.unit.candidate.group == Group::saved; });
  const Group wanted = group.value_or(has_saved ? Group::saved : Group::epoch);
  std::erase_if(units, [&](const LoadedUnit& unit) {
    return !unit.state || unit.unit.candidate.group != wanted;
  });
  return units;
}

/// Adds the epochs that were deleted because a replay computes them again: what is the best does
/// not depend on whether it is stored.
void add_proven_epochs(Connection& connection, std::int64_t run, std::vector<LoadedUnit>& units) {
  std::set<std::pair<std::int64_t, std::int64_t>> proven;
  for (const Proof& proof : load_proofs(connection, run)) {
    for (const auto& [key, digest] : proof.checkpoints) {
      if (key.kind == CheckpointKind::boundary) proven.emplace(key.main_loop, key.iteration);
    }
  }
  const std::int64_t leader = runs_together(connection, run).runs.front();
  for (const auto& [main_loop, iteration] : proven) {
    const auto loop = connection(
        "SELECT first_epoch FROM main_loop WHERE run = ?1 AND ordinal = ?2", run, main_loop);
    if (!loop->step()) continue;
    LoadedUnit& unit = units.emplace_back();
    unit.unit.candidate.number = loop->integer(0) + iteration - 1;
    unit.scored = leader;
  }
  std::ranges::stable_sort(units, {},
                           [](const LoadedUnit& unit) { return unit.unit.candidate.number; });
}

std::optional<FoundCheckpoint> find(const Store& store, std::int64_t run,
                                    const CheckpointStrategy& strategy, bool best) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  Connection& connection = database.connection;
  follow_evaluations(database);
  const ReadTransaction transaction(connection);
  std::vector<LoadedUnit> units = stored_units(connection, run);
  if (units.empty()) return std::nullopt;
  if (best && units.front().unit.candidate.group == Group::epoch) {
    add_proven_epochs(connection, run, units);
  }
  if (strategy.score_attribute.empty()) return found(units.back(), {});
  const std::vector<Score> scores = load_scores(connection, strategy.score_attribute, units);
  const std::size_t place =
      best ? ranking(scores, strategy.score_order, strategy.tie).front() : units.size() - 1;
  return found(units[place], scores[place]);
}

/// Adds complete epochs that are not stored to `units`, and sorts all by number.
void add_unstored_epochs(Connection& connection, std::int64_t run, std::vector<LoadedUnit>& units) {
  std::set<std::int64_t> known;
  for (const LoadedUnit& unit : units) known.insert(unit.unit.candidate.number);
  const std::int64_t leader = runs_together(connection, run).runs.front();
  // Counts rows of iterations, because the counts in `main_loop` may come from another machine.
  const auto epochs = connection(
      "SELECT first_epoch + iteration FROM iteration JOIN main_loop ON main_loop.run = "
      "iteration.run AND main_loop.ordinal = iteration.main_loop WHERE iteration.run = ?1 AND "
      "iteration.iteration < main_loop.iterations",
      run);
  while (epochs->step()) {
    if (!known.insert(epochs->integer(0)).second) continue;
    LoadedUnit& unit = units.emplace_back();
    unit.unit.candidate.number = epochs->integer(0);
    unit.scored = leader;
  }
  std::ranges::sort(units, {}, [](const LoadedUnit& unit) { return unit.unit.candidate.number; });
}

}  // namespace

RetentionReport plan_retention(const Store& store, std::int64_t run, const KeepRules& rules) {
  check_rules(rules);
  const KeepRules all = with_strategy(rules, store.catalog().strategy(run));
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow_evaluations(database);
  const ReadTransaction transaction(database.connection);
  check_metrics(database.connection, run, rules);
  return DeletionPlan(database, database.connection, run, all, true).report();
}

RetentionReport retain(Store& store, std::int64_t run, const KeepRules& rules, Sizes sizes) {
  check_rules(rules);
  const KeepRules all = with_strategy(rules, store.catalog().strategy(run));
  Database& database = *store.impl().database;
  if (sizes == Sizes::weighed) {
    const Lock lock(database.mutex);
    follow_evaluations(database);
    check_metrics(database.connection, run, rules);
  }
  Deletion deletion(database, run, all, sizes == Sizes::weighed || rules.under);
  try {
    with_reserve(database, [&] { deletion(); });
  } catch (const std::exception& error) {
    if (!is_no_space(error) || !deletion.has_begun()) throw;
  }
  RetentionReport report = std::move(deletion).report();
  report.deleted -= report.left;
  return report;
}

RestoreReport restore_discarded(Store& store, std::int64_t run, std::optional<std::int64_t> epoch,
                                std::string_view saved) {
  Database& database = *store.impl().database;
  // The lock excludes garbage collections, which may have already decided to remove the chunks.
  const MaintenanceLock maintenance(database);
  Writing writing(database);
  database.require_content();
  Connection& connection = writing.connection();
  RestoreReport report;
  for (const std::int64_t member : runs_together(connection, run).runs) {
    restore(writing, member, find_discarded(connection, member, epoch, saved), report);
  }
  writing.commit();
  return report;
}

std::optional<FoundCheckpoint> best_checkpoint(const Store& store, std::int64_t run,
                                               const CheckpointStrategy& strategy) {
  return find(store, run, strategy, true);
}

std::optional<FoundCheckpoint> latest_checkpoint(const Store& store, std::int64_t run,
                                                 const CheckpointStrategy& strategy) {
  return find(store, run, strategy, false);
}

std::optional<FoundCheckpoint> latest_epoch(const Store& store, std::int64_t run) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const ReadTransaction transaction(database.connection);
  const std::vector<LoadedUnit> units = stored_units(database.connection, run, Group::epoch);
  return units.empty() ? std::nullopt : std::optional(found(units.back(), {}));
}

std::vector<FoundCheckpoint> scored_checkpoints(const Store& store, std::int64_t run,
                                                std::string_view metric) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  Connection& connection = database.connection;
  follow_evaluations(database);
  const ReadTransaction transaction(connection);
  std::vector<LoadedUnit> units = stored_units(connection, run);
  const bool are_saved = !units.empty() && units.front().unit.candidate.group == Group::saved;
  if (!are_saved) add_unstored_epochs(connection, run, units);
  const std::vector<Score> scores = load_scores(connection, metric, units);
  std::vector<FoundCheckpoint> all;
  for (std::size_t i = 0; i < units.size(); ++i) all.push_back(found(units[i], scores[i]));
  return all;
}

void require_metric(const Store& store, std::int64_t run, const std::string& metric) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow_evaluations(database);
  check_metric(database.connection, runs_together(database.connection, run).runs.front(), metric);
}

}  // namespace flor::store
