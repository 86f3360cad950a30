#include "index/values/answers.h"

#include "index/question.h"
#include "index/values/machine.h"
#include "index/values/metric_rows.h"
#include "index/values/own_series.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace flor::store {
namespace {

constexpr auto kDoubtful = static_cast<std::int64_t>(Apart::doubtful);
constexpr auto kOther = static_cast<std::int64_t>(Apart::other);

// SQL condition that selects the values of a Unit: parameter 2 is its epoch, parameter 3 its
// ordinal.
#define FLOR_IN_UNIT " epoch = ?2 AND (?2 >= 0 OR ordinal = ?3) "

/// Calls `use` with each range of consecutive epochs.
template <typename Use>
void for_each_row(std::vector<std::int64_t> epochs, const Use& use) {
  std::ranges::sort(epochs);
  std::optional<Answers::Epochs> row;
  for (const std::int64_t epoch : epochs) {
    if (row && epoch > row->last + 1) use(*std::exchange(row, std::nullopt));
    if (!row) row = {epoch, epoch};
    row->last = epoch;
  }
  if (row) use(*row);
}

}  // namespace

std::string_view to_string(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::recorded:
      return "recorded";
    case ValueVerdict::verified:
      return "verified";
    case ValueVerdict::proven:
      return "proven";
    case ValueVerdict::unverified:
      return "unverified";
    case ValueVerdict::doubtful:
      return "doubtful";
  }
  return "unknown";
}

std::string apart_name(std::string_view name, Apart why, std::int64_t replay) {
  return why == Apart::doubtful ? fmt::format("{} (doubtful, replay {})", name, replay)
                                : fmt::format("{} (replay {})", name, replay);
}

Verdicts::Verdicts(Connection& connection, const ValueQuery& query) {
  if (!query.hindsight) return;
  const auto rows = connection(
      "SELECT replay, epoch, answer.verdict FROM replay CROSS JOIN answer ON answer.replay = "
      "replay.id WHERE run = ?1 AND epoch BETWEEN ?2 AND ?3",
      query.run, query.first_epoch, query.last_epoch);
  while (rows->step()) {
    known_[{rows->integer(0), rows->integer(1)}] = static_cast<ValueVerdict>(rows->integer(2));
  }
}

ValueVerdict Verdicts::of(std::int64_t replay, std::int64_t epoch) const {
  if (replay == 0) return ValueVerdict::recorded;
  const auto found = known_.find({replay, epoch});
  return found == known_.end() ? ValueVerdict::unverified : found->second;
}

std::vector<SeriesToRead> series_to_read(Connection& connection, std::int64_t run,
                                         std::span<const std::string> names, bool others) {
  const std::unordered_set<std::string> wanted(names.begin(), names.end());
  std::vector<SeriesToRead> series, samples;
  const auto rows = connection(
      "SELECT id, name, path, of, why FROM series LEFT JOIN apart ON apart.series = series.id "
      "WHERE run = ?1 ORDER BY id",
      run);
  while (rows->step()) {
    std::string name = rows->text(1);
    const bool by_itself = wanted.contains(name);
    if (name.starts_with(kReservedPrefix) && !by_itself) {
      std::string asked = name.substr(kReservedPrefix.size());
      if (is_machine_name(asked) && wanted.contains(asked)) {
        samples.push_back({rows->integer(0), std::move(asked), rows->text(2)});
      }
      continue;
    }
    const bool standing = rows->is_null(3);
    if (!standing && rows->integer(4) == kOther && !others && !by_itself) continue;
    const bool asked = wanted.empty() || by_itself || (!standing && wanted.contains(rows->text(3)));
    if (asked) series.push_back({rows->integer(0), std::move(name), rows->text(2)});
  }
  std::erase_if(samples, [&](const SeriesToRead& sampled) {
    return std::ranges::find(series, sampled.name, &SeriesToRead::name) != series.end();
  });
  std::ranges::move(samples, std::back_inserter(series));
  return series;
}

/// Stores a verdict. Values outside the loops may be found in several parts, of which the worst
/// verdict is kept.
void Answers::put_verdict(std::int64_t replay, Epochs epochs, ValueVerdict verdict) {
  connection_(
      "WITH RECURSIVE each (epoch) AS (SELECT ?2 UNION ALL SELECT epoch + 1 FROM each WHERE epoch "
      "< "
      "?3) INSERT INTO answer (replay, epoch, verdict) SELECT ?1, epoch, ?4 FROM each WHERE true "
      "ON CONFLICT DO UPDATE SET verdict = CASE WHEN epoch < 0 THEN max(verdict, ?4) ELSE ?4 END",
      replay, epochs.first, epochs.last, static_cast<std::int64_t>(verdict))
      ->run();
  verdicts_.erase(verdicts_.lower_bound({replay, epochs.first}),
                  verdicts_.upper_bound({replay, epochs.last}));
}

void Answers::load_verdicts(std::int64_t replay, Epochs epochs) {
  for (std::int64_t epoch = epochs.first; epoch <= epochs.last; ++epoch) {
    verdicts_.emplace_hint(verdicts_.end(), std::pair(replay, epoch), ValueVerdict::unverified);
  }
  const auto rows =
      connection_("SELECT epoch, verdict FROM answer WHERE replay = ?1 AND epoch BETWEEN ?2 AND ?3",
                  replay, epochs.first, epochs.last);
  while (rows->step()) {
    verdicts_[{replay, rows->integer(0)}] = static_cast<ValueVerdict>(rows->integer(1));
  }
}

ValueVerdict Answers::verdict(std::int64_t replay, std::int64_t epoch) {
  if (const auto known = verdicts_.find({replay, epoch}); known != verdicts_.end()) {
    return known->second;
  }
  const auto row =
      connection_("SELECT verdict FROM answer WHERE replay = ?1 AND epoch = ?2", replay, epoch);
  return row->step() ? static_cast<ValueVerdict>(row->integer(0)) : ValueVerdict::unverified;
}

bool Answers::is_fetched(std::int64_t replay) {
  const auto [known, is_new] = fetched_.try_emplace(replay);
  if (is_new) {
    known->second = connection_("SELECT 1 FROM fetched_replay WHERE replay = ?1", replay)->step();
  }
  return known->second;
}

/// True if the answer of `one` is better: by its verdict, or, if equal, because only `other` was
/// fetched. An answer to all steps is better than one to some of them.
bool Answers::outranks(std::int64_t one, std::int64_t other, std::int64_t epoch) {
  if (epoch >= 0 && question(one).of_steps() && !question(other).of_steps()) return false;
  if (epoch >= 0 && covers(one, other)) return true;
  const ValueVerdict mine = verdict(one, epoch), its = verdict(other, epoch);
  return mine < its || (mine == its && is_fetched(other) && !is_fetched(one));
}

const Answers::Question& Answers::question(std::int64_t replay) {
  const auto [known, is_new] = questions_.try_emplace(replay);
  if (!is_new) return known->second;
  const auto row = connection_("SELECT question FROM replay_question WHERE replay = ?1", replay);
  Question& question = known->second;
  if (row->step()) question.text = row->text(0);
  question.whole = whole_question(question.text);
  return question;
}

bool Answers::same_question(std::int64_t a, std::int64_t b) {
  return !question(a).text.empty() && question(a).text == question(b).text;
}

bool Answers::are_siblings(std::int64_t a, std::int64_t b) {
  const Question &one = question(a), &other = question(b);
  return one.of_steps() && other.of_steps() && one.whole == other.whole && one.text != other.text;
}

bool Answers::covers(std::int64_t one, std::int64_t other) {
  return question(other).of_steps() && question(one).text == question(other).whole;
}

/// Whether a replay that chose other steps has found the value as well, with no worse verdict.
bool Answers::is_answered_by_sibling(std::int64_t series, const Value& value) {
  std::vector<std::int64_t> others;
  {
    const auto rows = connection_(
        "SELECT DISTINCT replay FROM value WHERE series = ?1 AND epoch = ?2 AND step = ?3 AND "
        "replay > 0 AND replay <> ?4",
        series, value.place.epoch, value.place.step, value.replay);
    while (rows->step()) others.push_back(rows->integer(0));
  }
  return std::ranges::any_of(others, [&](std::int64_t other) {
    return are_siblings(other, value.replay) && !outranks(value.replay, other, value.place.epoch);
  });
}

std::int64_t Answers::series(const std::string& name, const std::string& path) {
  const auto [known, is_new] = series_.try_emplace({name, path});
  if (!is_new) return known->second;
  connection_("INSERT OR IGNORE INTO series (run, name, path) VALUES (?1, ?2, ?3)", run_, name,
              path)
      ->run();
  const auto row = connection_("SELECT id FROM series WHERE run = ?1 AND name = ?2 AND path = ?3",
                               run_, name, path);
  row->step();
  return known->second = row->integer(0);
}

std::int64_t Answers::set_apart(const std::string& name, const std::string& path, Apart why,
                                std::int64_t replay) {
  const std::int64_t id = series(apart_name(name, why, replay), path);
  connection_("INSERT OR IGNORE INTO apart (series, of, replay, why) VALUES (?1, ?2, ?3, ?4)", id,
              name, replay, static_cast<std::int64_t>(why))
      ->run();
  return id;
}

void Answers::move(std::int64_t from, Unit unit, std::int64_t replay, std::int64_t to) {
  blocks_.break_up(to, {unit.epoch, INT64_MIN}, {unit.epoch, INT64_MAX});
  connection_("UPDATE OR REPLACE value SET series = ?5 WHERE series = ?1 AND" FLOR_IN_UNIT
              "AND replay = ?4",
              from, unit.epoch, unit.ordinal, replay, to)
      ->run();
}

/// Returns other replays with current values in the unit. Outside the loops, replays with the same
/// question share the work, and in an epoch those that chose other steps, so their values stay and
/// are not returned.
std::vector<std::int64_t> Answers::others_standing(std::int64_t series, Unit unit,
                                                   std::int64_t replay) {
  std::vector<std::int64_t> found;
  {
    const auto rows =
        connection_("SELECT DISTINCT replay FROM value WHERE series = ?1 AND" FLOR_IN_UNIT
                    "AND replay > 0 AND replay <> ?4",
                    series, unit.epoch, unit.ordinal, replay);
    while (rows->step()) found.push_back(rows->integer(0));
  }
  std::erase_if(found, [&](std::int64_t id) {
    return unit.epoch < 0 ? same_question(id, replay) : are_siblings(id, replay);
  });
  return found;
}

const Answers::Place& Answers::place(const Value& value) {
  const Unit unit = Unit::of(value);
  const std::int64_t step = question(value.replay).of_steps() ? value.place.step : -1;
  const Key key(value.name, value.place.path, unit.epoch, unit.ordinal, step, value.replay);
  const auto known = places_.find(key);
  return known != places_.end() ? known->second : places_.emplace(key, decide(value)).first->second;
}

Answers::Place Answers::decide(const Value& value) {
  const std::string& path = value.place.path;
  const Unit unit = Unit::of(value);
  const ValueVerdict own = verdict(value.replay, unit.epoch);
  if (own == ValueVerdict::doubtful) {
    forget_repeated(value.name, path, unit, value.replay);
    set_apart(value.name, path, Apart::doubtful, value.replay);
    return {apart_name(value.name, Apart::doubtful, value.replay), true};
  }
  const auto others = others_standing(series(value.name, path), unit, value.replay);
  const bool answered = unit.epoch >= 0 && question(value.replay).of_steps() &&
                        is_answered_by_sibling(series(value.name, path), value);
  if (answered || std::ranges::any_of(others, [&](std::int64_t id) {
        return outranks(id, value.replay, unit.epoch);
      })) {
    set_apart(value.name, path, Apart::other, value.replay);
    return {apart_name(value.name, Apart::other, value.replay), false};
  }
  supersede(value.name, path, unit, value.replay, others);
  return {value.name, true};
}

void Answers::expect(std::int64_t replay, std::span<const Value> values) {
  constexpr std::int64_t kMany = 8;
  if (question(replay).of_steps()) return;  // decided step by step
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::int64_t>> found;
  for (const Value& value : values) {
    if (value.replay != replay || value.place.epoch < 0) continue;
    found[{value.name, value.place.path}].push_back(value.place.epoch);
  }
  // Not a structured binding, because clang 14 cannot capture one in a lambda.
  for (auto& of_series : found) {
    for_each_row(std::move(of_series.second), [&](Epochs row) {
      if (row.last - row.first < kMany) return;
      decide(std::string(of_series.first.first), std::string(of_series.first.second), row, replay);
    });
  }
}

Answers::Standing Answers::standing_in(std::int64_t series, Epochs epochs, std::int64_t except) {
  Standing found;
  const auto rows = connection_(
      "SELECT '', '', epoch, step, inner, ordinal, replay, type, value FROM value WHERE series = "
      "?1 "
      "AND epoch BETWEEN ?2 AND ?3 AND replay > 0 AND replay <> ?4",
      series, epochs.first, epochs.last, except);
  while (rows->step()) found.push_back(read_value(*rows));
  return found;
}

/// Decides a range of epochs at once. Leaves epochs in which the replay is doubtful or outranked to
/// `place`.
void Answers::decide(const std::string& name, const std::string& path, Epochs epochs,
                     std::int64_t replay) {
  const Standing standing = standing_in(series(name, path), epochs, replay);
  std::set<std::int64_t> replays{replay};
  for (const Value& value : standing) replays.insert(value.replay);
  for (const std::int64_t one : replays) load_verdicts(one, epochs);
  auto gone = standing.begin();
  std::int64_t first = epochs.first;
  auto first_gone = gone;
  for (std::int64_t epoch = epochs.first; epoch <= epochs.last; ++epoch) {
    const auto here = gone;
    bool wins = verdict(replay, epoch) != ValueVerdict::doubtful;
    for (; gone != standing.end() && gone->place.epoch == epoch; ++gone) {
      wins = wins && !outranks(gone->replay, replay, epoch);
    }
    if (wins) {
      places_.try_emplace(Key(name, path, epoch, 0, -1, replay), Place{name, true});
      continue;
    }
    replace(name, path, {first, epoch - 1}, replay, std::span(first_gone, here));
    first = epoch + 1;
    first_gone = gone;
  }
  replace(name, path, {first, epochs.last}, replay, std::span(first_gone, gone));
}

/// Makes the answers of `by` current. `gone`: all values that other replays found in these epochs.
void Answers::replace(const std::string& name, const std::string& path, Epochs epochs,
                      std::int64_t by, std::span<const Value> gone) {
  std::set<std::int64_t> others;
  for (const Value& value : gone) {
    others.insert(value.replay);
    removed_(name, value);
  }
  const std::int64_t standing = series(name, path);
  for (const std::int64_t replay : others) {
    if (same_question(replay, by)) {
      connection_("DELETE FROM value WHERE series = ?1 AND epoch BETWEEN ?2 AND ?3 AND replay = ?4",
                  standing, epochs.first, epochs.last, replay)
          ->run();
    } else {
      connection_(
          "UPDATE OR REPLACE value SET series = ?5 WHERE series = ?1 AND epoch BETWEEN ?2 AND ?3 "
          "AND replay = ?4",
          standing, epochs.first, epochs.last, replay, set_apart(name, path, Apart::other, replay))
          ->run();
    }
    std::vector<std::int64_t> answered;
    for (const Value& value : gone) {
      if (value.replay == replay) answered.push_back(value.place.epoch);
    }
    for_each_row(std::move(answered), [&](Epochs row) { forget_parts(replay, row); });
  }
}

/// Deletes the record that the replay has completed these parts, so that a replay with the same
/// question computes them again.
void Answers::forget_parts(std::int64_t replay, Epochs epochs) {
  connection_("DELETE FROM replayed WHERE replay = ?1 AND part BETWEEN ?2 AND ?3", replay,
              epochs.first, epochs.last)
      ->run();
}

/// Sets apart values of the other replays. Their parts no longer count as completed, so that a
/// replay with their question computes them again.
void Answers::supersede(const std::string& name, const std::string& path, Unit unit,
                        std::int64_t by, std::span<const std::int64_t> others) {
  const std::int64_t standing = series(name, path);
  for (const std::int64_t replay : others) {
    {
      const auto gone = connection_(
          "SELECT '', '', epoch, step, inner, ordinal, replay, type, value FROM value WHERE "
          "series = ?1 AND" FLOR_IN_UNIT "AND replay = ?4",
          standing, unit.epoch, unit.ordinal, replay);
      while (gone->step()) removed_(name, read_value(*gone));
    }
    if (same_question(replay, by)) {
      connection_("DELETE FROM value WHERE series = ?1 AND" FLOR_IN_UNIT "AND replay = ?4",
                  standing, unit.epoch, unit.ordinal, replay)
          ->run();
    } else {
      move(standing, unit, replay, set_apart(name, path, Apart::other, replay));
    }
    // It is not stored in which part outside the loops a value was found, so all such parts are
    // forgotten (a range that the table's index can find).
    const bool outside = unit.epoch < 0;
    forget_parts(replay, {outside ? INT64_MIN : unit.epoch, outside ? -1 : unit.epoch});
  }
}

/// Whether a replay has current values in the unit.
bool Answers::stands(std::int64_t series, Unit unit) {
  return connection_("SELECT 1 FROM value WHERE series = ?1 AND" FLOR_IN_UNIT "AND replay > 0",
                     series, unit.epoch, unit.ordinal)
      ->step();
}

/// Deletes older doubtful values of replays with the same question; only the newest are kept.
void Answers::forget_repeated(const std::string& name, const std::string& path, Unit unit,
                              std::int64_t replay) {
  std::vector<std::pair<std::int64_t, std::int64_t>> apart;
  {
    const auto rows = connection_(
        "SELECT series, replay FROM apart JOIN series ON series.id = apart.series WHERE run = ?1 "
        "AND of = ?2 AND path = ?3 AND why = ?4 AND replay <> ?5",
        run_, name, path, kDoubtful, replay);
    while (rows->step()) apart.emplace_back(rows->integer(0), rows->integer(1));
  }
  for (const auto& [id, older] : apart) {
    if (!same_question(older, replay)) continue;
    connection_("DELETE FROM value WHERE series = ?1 AND" FLOR_IN_UNIT, id, unit.epoch,
                unit.ordinal)
        ->run();
    touched_.insert(apart_name(name, Apart::doubtful, older));
  }
}

/// Makes the best answer that was set apart current; of several equal ones, the newest. With it
/// come those that chose other steps of the same question.
void Answers::stand_again(const std::string& name, const std::string& path, Unit unit) {
  std::vector<std::pair<std::int64_t, std::int64_t>> waiting;
  {
    const auto rows = connection_(
        "SELECT apart.series, apart.replay FROM apart JOIN series ON series.id = apart.series "
        "LEFT JOIN answer ON answer.replay = apart.replay AND answer.epoch = ?2 "
        "WHERE run = ?1 AND of = ?4 AND path = ?5 AND why = ?6 AND EXISTS (SELECT 1 FROM value "
        "WHERE "
        "value.series = apart.series AND value.epoch = ?2 AND (?2 >= 0 OR value.ordinal = ?3)) "
        "ORDER BY coalesce(answer.verdict, 3), apart.replay IN (SELECT replay FROM "
        "fetched_replay), "
        "apart.replay DESC",
        run_, unit.epoch, unit.ordinal, name, path, kOther);
    while (rows->step()) waiting.emplace_back(rows->integer(0), rows->integer(1));
  }
  if (unit.epoch >= 0) {
    std::stable_partition(waiting.begin(), waiting.end(), [&](const auto& one) {
      return !question(one.second).of_steps();
    });
  }
  const std::int64_t standing = series(name, path);
  for (auto at = waiting.rbegin(); at != waiting.rend(); ++at) {  // the best last: it replaces
    const auto [from, replay] = *at;
    const bool is_best = at + 1 == waiting.rend();
    if (is_best || (unit.epoch >= 0 && are_siblings(replay, waiting.front().second))) {
      move(from, unit, replay, standing);
    }
  }
}

void Answers::doubt(std::int64_t replay) {
  struct Found {
    std::int64_t series;
    std::string name, path;
    Unit unit;
    bool standing;
  };
  std::vector<Found> all;
  {
    const auto rows = connection_(
        "SELECT DISTINCT series.id, coalesce(of, name), path, epoch, "
        "CASE WHEN epoch < 0 THEN ordinal ELSE 0 END, of IS NULL FROM series "
        "LEFT JOIN apart ON apart.series = series.id JOIN value ON value.series = series.id "
        "WHERE run = ?1 AND value.replay = ?2 AND coalesce(why, 0) <> ?3",
        run_, replay, kDoubtful);
    while (rows->step()) {
      all.push_back({rows->integer(0), rows->text(1), rows->text(2),
                     Unit{rows->integer(3), rows->integer(4)}, rows->integer(5) != 0});
    }
  }
  for (const Found& found : all) {
    forget_repeated(found.name, found.path, found.unit, replay);
    move(found.series, found.unit, replay,
         set_apart(found.name, found.path, Apart::doubtful, replay));
    touched_.insert(apart_name(found.name, Apart::doubtful, replay));
    if (!found.standing) continue;
    touched_.insert(found.name);
    if (found.unit.epoch >= 0 && stands(series(found.name, found.path), found.unit)) continue;
    stand_again(found.name, found.path, found.unit);
  }
  connection_("UPDATE answer SET verdict = ?2 WHERE replay = ?1", replay,
              static_cast<std::int64_t>(ValueVerdict::doubtful))
      ->run();
  places_.clear();
  verdicts_.clear();
}

void Answers::verify(std::int64_t replay, std::int64_t epoch) {
  if (verdict(replay, epoch) == ValueVerdict::doubtful) return;
  verdicts_.erase({replay, epoch});
  connection_("INSERT OR REPLACE INTO answer (replay, epoch, verdict) VALUES (?1, ?2, ?3)", replay,
              epoch, static_cast<std::int64_t>(ValueVerdict::verified))
      ->run();
  struct Found {
    std::int64_t series;
    std::string name, path;
  };
  std::vector<Found> waiting;
  {
    const auto rows = connection_(
        "SELECT series.id, of, path FROM apart JOIN series ON series.id = apart.series WHERE "
        "run = ?1 AND apart.replay = ?2 AND why = ?3 AND EXISTS (SELECT 1 FROM value WHERE "
        "value.series = series.id AND value.epoch = ?4)",
        run_, replay, kOther, epoch);
    while (rows->step()) waiting.push_back({rows->integer(0), rows->text(1), rows->text(2)});
  }
  for (const Found& found : waiting) {
    const std::int64_t standing = series(found.name, found.path);
    const Unit unit{.epoch = epoch};
    const auto others = others_standing(standing, unit, replay);
    if (std::ranges::any_of(others, [&](std::int64_t id) { return covers(id, replay); })) continue;
    supersede(found.name, found.path, unit, replay, others);
    move(found.series, unit, replay, standing);
    touched_.insert(found.name);
  }
}

}  // namespace flor::store
