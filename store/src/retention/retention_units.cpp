#include "retention/retention_units.h"

#include "base/edit_distance.h"
#include "database/values/scalar.h"
#include "index/catalog/checkpoint_rows.h"
#include "index/values/evaluated.h"
#include "retention/retention_resume.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace flor::store {
namespace {

using Group = Candidate::Group;

struct Loop {
  std::int64_t first_epoch = 0, iterations = 0;
};

/// Sorts epochs by number, even if a rank has stored one late, and places saved checkpoints between
/// them by the time when they were taken. `units`: epochs in order, followed by the saved ones.
void sort_by_age(std::vector<LoadedUnit>& units) {
  const auto first = [](const LoadedUnit& unit) { return unit.unit.checkpoints.front(); };
  std::unordered_map<std::int64_t, std::int64_t> age;  // keyed by the unit's first checkpoint
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const bool epoch = unit->unit.candidate.group == Group::epoch;
    if (epoch) next = std::min(next, first(*unit));
    age[first(*unit)] = epoch ? next : first(*unit);
  }
  std::ranges::stable_sort(units, {}, [&](const LoadedUnit& unit) { return age.at(first(unit)); });
}

/// Loads the units of some runs. The first run defines the numbers of epochs.
class UnitLoader {
 public:
  /// `run`: the run whose checkpoints represent the units. `leader`: the run whose values are the
  /// scores, if it has logged the metric.
  UnitLoader(Connection& connection, std::int64_t run, std::int64_t leader,
             std::vector<std::int64_t> runs, bool goes_on)
      : connection_(connection),
        run_(run),
        leader_(leader),
        runs_(std::move(runs)),
        goes_on_(goes_on) {
    const auto rows = connection(
        "SELECT ordinal, first_epoch, iterations FROM main_loop WHERE run = ?1", runs_.front());
    while (rows->step()) loops_[rows->integer(0)] = {rows->integer(1), rows->integer(2)};
    add_names(leader);
    for (const std::int64_t member : runs_) add_names(member);
  }

  std::vector<LoadedUnit> load() {
    for (const std::int64_t member : runs_) load(member);
    if (goes_on_) keep_what_resuming_needs();
    std::vector<LoadedUnit> units;
    for (auto& [place, unit] : epochs_) {
      if (!in_progress(place, unit)) units.push_back(std::move(unit));
    }
    for (auto& [name, unit] : saved_) units.push_back(std::move(unit));
    for (LoadedUnit& unit : units) std::ranges::sort(unit.unit.checkpoints);
    sort_by_age(units);
    return units;
  }

 private:
  /// The first run that has a saved checkpoint of this name, and the checkpoint's number in that
  /// run.
  struct Origin {
    std::int64_t run = 0, number = 0;
  };

  void add_names(std::int64_t run) {
    const auto rows = connection_("SELECT name, number FROM saved WHERE run = ?1", run);
    while (rows->step()) names_.try_emplace(rows->text(0), Origin{run, rows->integer(1)});
  }

  void load(std::int64_t member) {
    member_ = member;
    begun_.clear();
    stored_.emplace_back(connection_, member);
    const auto rows = connection_(
        "SELECT " FLOR_CHECKPOINT_COLUMNS " FROM checkpoint WHERE run = ?1 ORDER BY id", member);
    while (rows->step()) add(read_checkpoint(*rows));
  }

  void add(const CheckpointInfo& info) {
    const CheckpointKey& key = info.key;
    stored_.back().add(key);
    switch (key.kind) {
      case CheckpointKind::step:
        return;
      case CheckpointKind::saved:
        return add_saved(info);
      case CheckpointKind::boundary:
        if (key.iteration > 0) represent(add(info, {key.main_loop, key.iteration - 1}), info);
        return;
      case CheckpointKind::loop_end:
        // Attached locals at the beginning of a loop belong to the boundary before it. The first
        // such checkpoint of each loop is never deleted, because it shows that the loop has
        // attached locals.
        if (!key.loop.ends_with("@begin")) {
          add(info, {key.main_loop, key.iteration});
        } else if (!begun_.emplace(key.main_loop, key.loop).second && key.iteration > 0) {
          add(info, {key.main_loop, key.iteration - 1});
        }
    }
  }

  /// Sets the checkpoint that represents the unit: that of `run_` if it has one, otherwise that of
  /// the lowest rank.
  void represent(LoadedUnit& unit, const CheckpointInfo& info) const {
    if (!unit.state || member_ == run_) unit.state = info.id;
  }

  LoadedUnit& add(const CheckpointInfo& info, const LoopPlace& place) {
    LoadedUnit& unit = epochs_[place];
    unit.scored = leader_;
    unit.unit.candidate.number = loops_[place.first].first_epoch + place.second;
    append(unit, info);
    return unit;
  }

  void add_saved(const CheckpointInfo& info) {
    const auto name = names_.find(info.key.loop);
    if (name == names_.end()) return;  // its writer is about to add the row
    const auto& [run, number] = name->second;
    LoadedUnit& unit = saved_[name->first];
    unit.scored = run;
    unit.unit.candidate.group = Group::saved;
    unit.unit.candidate.number = number;
    unit.unit.name = name->first;
    represent(unit, info);
    append(unit, info);
  }

  static void append(LoadedUnit& unit, const CheckpointInfo& info) {
    unit.unit.checkpoints.push_back(info.id);
    unit.unit.raw_bytes += info.raw_bytes;
    unit.unit.taken_us = std::max(unit.unit.taken_us, info.created_us);
  }

  /// True if the iteration is not known to be complete: it may be completed soon, or forgotten at a
  /// resume.
  bool in_progress(const LoopPlace& place, const LoadedUnit& unit) const {
    if (!goes_on_) return false;
    return !unit.state || place.second >= loops_.at(place.first).iterations;
  }

  void keep_what_resuming_needs() {
    for (const LoopPlace& place : needed_to_resume(connection_, stored_)) {
      if (const auto unit = epochs_.find(place); unit != epochs_.end()) {
        unit->second.unit.candidate.needed = true;
      }
    }
    keep_last_saved(1);
    keep_last_saved(runs_.size());
  }

  /// Keeps the last saved checkpoint of each run, considering only those that this number of ranks
  /// have.
  void keep_last_saved(std::size_t ranks) {
    std::map<std::int64_t, LoadedUnit*> last;  // by run
    for (auto& [name, unit] : saved_) {
      if (unit.unit.checkpoints.size() < ranks) continue;
      LoadedUnit*& known = last[unit.scored];
      if (!known || known->unit.candidate.number < unit.unit.candidate.number) known = &unit;
    }
    for (const auto& [run, unit] : last) unit->unit.candidate.needed = true;
  }

  Connection& connection_;
  std::int64_t run_, leader_;
  std::int64_t member_ = 0;  ///< the run being loaded
  std::vector<std::int64_t> runs_;
  bool goes_on_ = false;
  std::map<std::int64_t, Loop> loops_;
  std::map<std::string, Origin> names_;
  std::vector<StoredRun> stored_;
  std::map<LoopPlace, LoadedUnit> epochs_;
  std::map<std::string, LoadedUnit> saved_;               ///< by name
  std::set<std::pair<std::int64_t, std::string>> begun_;  ///< main loop and nested loop of
                                                          ///< `member_`
};

/// The values of one metric of a run.
class Scores {
 public:
  Scores(Connection& connection, std::int64_t run, std::string_view metric)
      : connection_(connection) {
    const auto rows = connection(
        "SELECT id, path FROM series WHERE run = ?1 AND name = ?2 ORDER BY id DESC", run, metric);
    while (rows->step()) series_.push_back({rows->integer(0), rows->text(1)});
  }

  /// Returns the score of an epoch; -1: of the values outside all epochs.
  Score of_epoch(std::int64_t epoch) {
    for (const bool inside : {false, true}) {
      for (const Series& series : series_) {
        if ((std::ranges::count(series.path, '/') > 0) != inside) continue;
        const auto last = connection_(
            "SELECT max(step) FROM every_value WHERE series = ?1 AND epoch = ?2", series.id, epoch);
        if (!last->step() || last->is_null(0)) continue;
        return at(series.id, epoch, last->integer(0), std::nullopt);
      }
    }
    return std::nullopt;
  }

  /// Returns the score at exactly this place.
  Score at_place(const Place& place) {
    for (const Series& series : series_) {
      if (series.path != place.path) continue;
      if (const Score score = at(series.id, place.epoch, place.step, place.inner)) return score;
    }
    return std::nullopt;
  }

 private:
  struct Series {
    std::int64_t id = 0;
    std::string path;
  };

  /// Returns the last value in a step.
  Score at(std::int64_t series, std::int64_t epoch, std::int64_t step,
           const std::optional<std::string>& inner) {
    Score score;
    std::string last;
    const auto rows = connection_(
        "SELECT inner, type, value FROM every_value WHERE series = ?1 AND epoch = ?2 AND step = ?3 "
        "ORDER BY inner, ordinal",
        series, epoch, step);
    while (rows->step()) {
      const std::string place = rows->text(0);
      if (inner ? place != *inner : compare_inner(place, last) < 0) continue;
      last = place;
      const auto type = static_cast<ValueType>(rows->integer(1));
      const bool number =
          type == ValueType::boolean || type == ValueType::integer || type == ValueType::real;
      score = number ? Score(number_of(type, read_scalar(*rows, 2))) : std::nullopt;
    }
    return score;
  }

  Connection& connection_;
  std::vector<Series> series_;
};

/// Where a saved checkpoint was taken, and the score that it was saved with.
struct SavedScore {
  Place place;
  bool given = false;
  double value = 0;
};

std::map<std::int64_t, SavedScore> saved_scores(Connection& connection, std::int64_t run,
                                                std::string_view metric) {
  std::map<std::int64_t, SavedScore> by_number;
  const auto rows = connection(
      "SELECT saved.number, path, epoch, step, inner, score.number IS NOT NULL, value "
      "FROM saved LEFT JOIN score ON score.run = saved.run AND score.number = saved.number "
      "AND score.name = ?2 WHERE saved.run = ?1",
      run, metric);
  while (rows->step()) {
    SavedScore& saved = by_number[rows->integer(0)];
    saved.place = {rows->text(1), rows->integer(2), rows->integer(3), rows->text(4)};
    saved.given = rows->integer(5) != 0;
    saved.value = rows->is_null(6) ? std::numeric_limits<double>::quiet_NaN() : rows->real(6);
  }
  return by_number;
}

/// Results of evaluators with one name.
class EvaluatedScores {
 public:
  EvaluatedScores(Connection& connection, std::int64_t run, std::string_view metric) {
    for (const EvaluatedValue& found : load_evaluated(connection, run)) {
      const Value& value = found.value;
      const bool number = value.type == ValueType::boolean || value.type == ValueType::integer ||
                          value.type == ValueType::real;
      if (value.name != metric || !number) continue;
      const double score = number_of(value.type, value.value);
      (found.saved.empty() ? by_epoch_[value.place.epoch] : by_name_[found.saved]) = score;
    }
  }

  Score of(const RetainedUnit& unit) const {
    return unit.candidate.group == Group::epoch ? find(by_epoch_, unit.candidate.number)
                                                : find(by_name_, unit.name);
  }
  Score of_epoch(std::int64_t epoch) const { return find(by_epoch_, epoch); }

 private:
  template <typename Key>
  static Score find(const std::map<Key, double>& scores, const Key& key) {
    const auto found = scores.find(key);
    return found == scores.end() ? std::nullopt : Score(found->second);
  }

  std::map<std::int64_t, double> by_epoch_;
  std::map<std::string, double> by_name_;
};

/// All scores of a run by one metric: logged, given when saving, and found by evaluators.
class ScoresOfRun {
 public:
  ScoresOfRun(Connection& connection, std::int64_t run, std::string_view metric)
      : logged_(connection, run, metric),
        saved_(saved_scores(connection, run, metric)),
        evaluated_(connection, run, metric) {}

  Score of(const RetainedUnit& unit) {
    if (unit.candidate.group == Group::epoch) {
      const Score score = logged_.of_epoch(unit.candidate.number);
      return score ? score : evaluated_.of(unit);
    }
    const SavedScore& own = saved_.at(unit.candidate.number);
    Score score = own.given ? Score(own.value) : logged_.at_place(own.place);
    if (!score) score = evaluated_.of(unit);
    if (!score) score = logged_.of_epoch(own.place.epoch);
    return score ? score : evaluated_.of_epoch(own.place.epoch);
  }

 private:
  Scores logged_;
  std::map<std::int64_t, SavedScore> saved_;
  EvaluatedScores evaluated_;
};

}  // namespace

RunsTogether runs_together(Connection& connection, std::int64_t run) {
  RunsTogether together;
  const auto rows = connection(
      "SELECT run, world FROM rank_run WHERE leader = (SELECT leader FROM rank_run WHERE run = ?1) "
      "ORDER BY rank",
      run);
  std::size_t world = 0;
  while (rows->step()) {
    together.runs.push_back(rows->integer(0));
    world = static_cast<std::size_t>(rows->integer(1));
  }
  together.complete = together.runs.size() >= world;
  if (together.runs.empty()) together.runs.push_back(run);
  return together;
}

bool may_go_on(Connection& connection, std::int64_t run) {
  const auto row = connection("SELECT finished_us, failed FROM run WHERE id = ?1", run);
  return row->step() && (row->is_null(0) || row->integer(1) != 0);
}

std::vector<LoadedUnit> load_units(Connection& connection, std::int64_t run) {
  RunsTogether together = runs_together(connection, run);
  const bool goes_on =
      !together.complete || std::ranges::any_of(together.runs, [&](std::int64_t member) {
        return may_go_on(connection, member);
      });
  const std::int64_t leader = together.runs.front();
  return UnitLoader(connection, run, leader, std::move(together.runs), goes_on).load();
}

std::vector<LoadedUnit> load_own_units(Connection& connection, std::int64_t run) {
  const std::int64_t leader = runs_together(connection, run).runs.front();
  return UnitLoader(connection, run, leader, {run}, may_go_on(connection, run)).load();
}

std::vector<Score> load_scores(Connection& connection, std::string_view metric,
                               std::span<const LoadedUnit> units) {
  std::map<std::int64_t, ScoresOfRun> runs;
  std::vector<Score> scores;
  scores.reserve(units.size());
  for (const LoadedUnit& unit : units) {
    const auto run = runs.try_emplace(unit.scored, connection, unit.scored, metric).first;
    scores.push_back(run->second.of(unit.unit));
  }
  return scores;
}

void check_metric(Connection& connection, std::int64_t run, const std::string& metric) {
  std::vector<std::string> names;
  const auto rows = connection(
      "SELECT name, max(type IN (0, 1, 2)) FROM (SELECT name, type FROM metric WHERE run = ?1 AND "
      "count > 0 UNION ALL SELECT name, 2 FROM score WHERE run = ?1) GROUP BY name",
      run);
  while (rows->step()) {
    if (rows->text_view(0) != metric) {
      if (rows->integer(1) != 0) names.push_back(rows->text(0));
    } else if (rows->integer(1) == 0) {
      throw UsageError(fmt::format("'{}' is no number, so that nothing can rank by it", metric));
    } else {
      return;
    }
  }
  for (const MetricSummary& evaluated : summarize(load_evaluated(connection, run))) {
    const bool number = evaluated.type == ValueType::boolean ||
                        evaluated.type == ValueType::integer || evaluated.type == ValueType::real;
    if (evaluated.name == metric && number) return;
    if (evaluated.name == metric) {
      throw UsageError(fmt::format("'{}' is no number, so that nothing can rank by it", metric));
    }
    if (number) names.push_back(evaluated.name);
  }
  std::string list;
  for (const std::string& name : nearest(metric, names)) {
    list += fmt::format("{}'{}'", list.empty() ? "" : " or ", name);
  }
  throw NotFound(
      fmt::format("the run has no metric '{}': {}", metric,
                  list.empty() ? "`flor show` lists them" : "did you mean " + list + "?"));
}

}  // namespace flor::store
