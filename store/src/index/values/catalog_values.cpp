// Functions of Catalog about logged values, and about the summary of each metric.
#include "database/database.h"
#include "database/rest_rows.h"
#include "database/values/scalar.h"
#include "database/values/series_blocks.h"
#include "index/catalog/resume_rows.h"
#include "index/refresh.h"
#include "index/values/answers.h"
#include "index/values/doubts.h"
#include "index/values/evaluated.h"
#include "index/values/metric_rows.h"
#include "index/values/own_series.h"
#include "index/writing.h"

#include <flor/store/catalog.h>
#include <flor/store/error.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace flor::store {

Value read_value(const Query& row) {
  Value value;
  value.name = row.text(0);
  value.place.path = row.text(1);
  value.place.epoch = row.integer(2);
  value.place.step = row.integer(3);
  value.place.inner = row.text(4);
  value.ordinal = row.integer(5);
  value.replay = row.integer(6);
  value.type = static_cast<ValueType>(row.integer(7));
  value.value = read_scalar(row, 8);
  return value;
}

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

void check_type(const Value& value) {
  const bool fits = [&] {
    switch (value.type) {
      case ValueType::boolean:
      case ValueType::integer:
        return std::holds_alternative<std::int64_t>(value.value);
      case ValueType::real:
        return std::holds_alternative<double>(value.value);
      default:
        return std::holds_alternative<std::string>(value.value);
    }
  }();
  if (!fits) {
    throw Error(fmt::format("the logged value '{}' is not of the type {} that it is said to be",
                            value.name, to_string(value.type)));
  }
}

/// The row of `metric` for one name, while values are added and removed. If the minimum, the
/// maximum or the last value is removed and no later value replaces it, the summary is recomputed
/// from all values.
struct Summary {
  ValueType type = ValueType::real;
  std::int64_t count = 0;
  std::int64_t recorded = 0;
  double minimum = std::numeric_limits<double>::quiet_NaN();
  double maximum = std::numeric_limits<double>::quiet_NaN();
  Scalar last;
  std::int64_t last_epoch = 0, last_step = 0, last_ordinal = 0;
  std::string last_inner;
  bool stale = false;  ///< must be recomputed from all values
  bool lost_minimum = false, lost_maximum = false, lost_last = false;

  bool is_stale() const { return stale || lost_minimum || lost_maximum || lost_last; }

  void add(const Value& value) {
    ++count;
    if (value.replay == 0) ++recorded;
    const double number = number_of(value.type, value.value);
    if (!std::isnan(number)) {
      if (std::isnan(minimum) || number <= minimum) {
        minimum = number;
        lost_minimum = false;
      }
      if (std::isnan(maximum) || number >= maximum) {
        maximum = number;
        lost_maximum = false;
      }
    }
    if (count == 1 || !is_before_last(value)) {
      type = value.type;
      last = value.value;
      last_epoch = value.place.epoch;
      last_step = value.place.step;
      last_inner = value.place.inner;
      last_ordinal = value.ordinal;
      lost_last = false;
    }
  }

  void remove(const Value& value) {
    --count;
    if (value.replay == 0) --recorded;
    const double number = number_of(value.type, value.value);
    lost_minimum = lost_minimum || number == minimum;
    lost_maximum = lost_maximum || number == maximum;
    lost_last = lost_last || !is_before_last(value);
  }

 private:
  bool is_before_last(const Value& value) const {
    const auto mine = std::tie(last_epoch, last_step);
    const auto other = std::tie(value.place.epoch, value.place.step);
    if (mine != other) return other < mine;
    const int order = compare_inner(value.place.inner, last_inner);
    return order != 0 ? order < 0 : value.ordinal < last_ordinal;
  }
};

/// Packing into blocks is first tried when a series that is written value by value has this many
/// rows.
constexpr std::size_t kYoungRowsMin = 4096;

/// Adds a batch of values to one run, inside a transaction of the caller.
class ValueInserter {
 public:
  ValueInserter(Database& database, std::int64_t run)
      : database_(database),
        connection_(database.connection),
        blocks_(database.connection),
        run_(run),
        answers_(
            connection_, run,
            [this](const std::string& name, const Value& value) { summary(name).remove(value); }),
        insert_(connection_.prepare("INSERT OR IGNORE INTO value (series, epoch, step, inner, "
                                    "ordinal, replay, type, value) "
                                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")) {}

  /// Adds the values in the given order.
  void add(std::span<const Value> values) {
    std::unordered_map<std::int64_t, std::vector<const Value*>> logged;
    for (const Value& value : values) {
      check_type(value);
      if (value.replay != 0) {
        add_found(value);
      } else {
        summary(value.name);  // makes the row, which fixes the order of names
        logged[series(value.name, value.place.path)].push_back(&value);
      }
    }
    for (const auto& [series_id, of_series] : logged) add_logged(series_id, of_series);
  }

  Answers& answers() { return answers_; }

  /// Notes that values of this name were removed.
  void refresh(const std::string& name) { summary(name).stale = true; }

  void finish() {
    for (const std::string& name : answers_.touched()) refresh(name);
    for (auto& [name, summary] : summaries_) {
      if (summary.is_stale()) summary = compute(name);
      write(name, summary);
    }
    for (auto& [key, id] : new_series_) database_.series.insert_or_assign(key, id);
  }

 private:
  void add_found(const Value& value) {
    const Answers::Place& place = answers_.place(value);
    const std::int64_t series_id = series(place.name, value.place.path);
    break_up(series_id, value);
    if (place.counts) return add_row(series_id, value, place.name);
    if (!execute(*insert_, series_id, value)) replace(series_id, value);
  }

  /// Adds many numbers as a block, if they continue the series with one value per step.
  void add_logged(std::int64_t series_id, std::span<const Value* const> values) {
    if (values.size() >= kBlockPointsMin) {
      std::vector<Point> points;
      points.reserve(values.size());
      for (const Value* value : values) points.push_back(point_of(*value));
      const auto last = blocks_.last(series_id);
      const StepKey first{points.front().epoch, points.front().step};
      if ((!last || *last < first) && is_in_order(points)) {
        Summary& metric = summary(values.front()->name);
        for (const Value* value : values) metric.add(*value);
        return blocks_.append(series_id, points);
      }
    }
    for (const Value* value : values) {
      break_up(series_id, *value);
      add_row(series_id, *value, value->name);
    }
    YoungRows& young = database_.young_rows[series_id];
    young.count += values.size();
    if (young.count < std::max(kYoungRowsMin, young.enough)) return;
    // Rows that could not be packed would be read again, so the next attempt waits until their
    // number has doubled.
    young.count = blocks_.pack(series_id, SeriesBlocks::Growth::goes_on);
    young.enough = 2 * young.count;
  }

  static Point point_of(const Value& value) {
    return {value.place.epoch, value.place.step, value.ordinal,
            value.place.inner, value.type,       value.value};
  }
  static bool is_in_order(std::span<const Point> points) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!is_packable(points[i].type)) return false;
      if (i > 0 && key_of(points[i - 1]) >= key_of(points[i])) return false;
    }
    return true;
  }
  void break_up(std::int64_t series_id, const Value& value) {
    const StepKey at{value.place.epoch, value.place.step};
    blocks_.break_up(series_id, at, at);
  }

  void add_row(std::int64_t series_id, const Value& value, const std::string& name) {
    Summary& metric = summary(name);
    if (execute(*insert_, series_id, value)) {
      metric.add(value);
    } else {
      replace(series_id, value);
      metric.stale = true;
    }
  }

  bool execute(Query& query, std::int64_t series_id, const Value& value) {
    query.bind(1, series_id);
    query.bind(2, value.place.epoch);
    query.bind(3, value.place.step);
    query.bind(4, std::string_view(value.place.inner));
    query.bind(5, value.ordinal);
    query.bind(6, value.replay);
    query.bind(7, static_cast<std::int64_t>(value.type));
    std::byte nan[8];
    bind_scalar(query, 8, value.value, nan);
    query.run();
    return query.changes() > 0;
  }

  /// Inserts or replaces a value. A value that the run recorded is never replaced by a replay's.
  void replace(std::int64_t series_id, const Value& value) {
    const auto query = connection_.prepare(
        "UPDATE value SET replay = ?6, type = ?7, value = ?8 WHERE series = ?1 AND epoch = ?2 "
        "AND step = ?3 AND inner = ?4 AND ordinal = ?5 AND (replay > 0 OR ?6 = 0)");
    execute(*query, series_id, value);
  }

  std::int64_t series(const std::string& name, const std::string& path) {
    key_.assign(reinterpret_cast<const char*>(&run_), sizeof(run_));
    key_.append(name).push_back('\0');
    key_.append(path);
    if (const auto known = database_.series.find(key_); known != database_.series.end()) {
      return known->second;
    }
    // New ids are put into the common cache only after the commit, because the transaction may be
    // rolled back.
    if (const auto known = new_series_.find(key_); known != new_series_.end()) {
      return known->second;
    }
    connection_("INSERT OR IGNORE INTO series (run, name, path) VALUES (?1, ?2, ?3)", run_, name,
                path)
        ->run();
    const auto row = connection_("SELECT id FROM series WHERE run = ?1 AND name = ?2 AND path = ?3",
                                 run_, name, path);
    row->step();
    return new_series_.emplace(key_, row->integer(0)).first->second;
  }

  Summary& summary(const std::string& name) {
    if (name.starts_with(kReservedPrefix) || name.starts_with(kQuestionSeries)) return unseen_;
    const auto known = summaries_.find(name);
    if (known != summaries_.end()) return known->second;
    return summaries_.emplace(name, load(name)).first->second;
  }

  Summary load(const std::string& name) {
    Summary summary;
    const auto row = connection_(
        "SELECT type, count, recorded, minimum, maximum, last, last_epoch, last_step, last_inner, "
        "last_ordinal FROM metric WHERE run = ?1 AND name = ?2",
        run_, name);
    if (!row->step()) {
      // Reserves the name's place in the order of first appearance.
      connection_(
          "INSERT INTO metric (run, name, type, count, recorded, last, last_epoch, last_step, "
          "last_inner, last_ordinal) VALUES (?1, ?2, 0, 0, 0, 0, 0, 0, '', 0)",
          run_, name)
          ->run();
      return summary;
    }
    summary.type = static_cast<ValueType>(row->integer(0));
    summary.count = row->integer(1);
    summary.recorded = row->integer(2);
    if (!row->is_null(3)) summary.minimum = row->real(3);
    if (!row->is_null(4)) summary.maximum = row->real(4);
    summary.last = read_scalar(*row, 5);
    summary.last_epoch = row->integer(6);
    summary.last_step = row->integer(7);
    summary.last_inner = row->text(8);
    summary.last_ordinal = row->integer(9);
    return summary;
  }

  Summary compute(const std::string& name) {
    Summary summary;
    const auto series =
        connection_("SELECT id, path FROM series WHERE run = ?1 AND name = ?2", run_, name);
    while (series->step()) {
      SeriesReader reader(connection_, series->integer(0), INT64_MIN, INT64_MAX);
      for (SeriesValue one; reader.next(one);) {
        summary.add(value_of(std::move(one), name, series->text(1)));
      }
    }
    return summary;
  }

  void write(const std::string& name, const Summary& summary) {
    const auto query = connection_(
        "UPDATE metric SET type = ?3, count = ?4, recorded = ?5, minimum = ?6, maximum = ?7, "
        "last_epoch = ?8, last_step = ?9, last_inner = ?10, last_ordinal = ?11, last = ?12 "
        "WHERE run = ?1 AND name = ?2",
        run_, name, static_cast<std::int64_t>(summary.type), summary.count, summary.recorded,
        summary.minimum, summary.maximum, summary.last_epoch, summary.last_step, summary.last_inner,
        summary.last_ordinal);
    std::byte nan[8];
    bind_scalar(*query, 12, summary.last, nan);
    query->run();
  }

  Database& database_;
  Connection& connection_;
  SeriesBlocks blocks_;
  std::int64_t run_;
  Answers answers_;
  std::unique_ptr<Query> insert_;
  std::string key_;
  std::unordered_map<std::string, std::int64_t> new_series_;
  std::unordered_map<std::string, Summary> summaries_;
  Summary unseen_;  ///< of Flor's own series, which are not metrics and have no rows
};

void insert_part(Connection& connection, std::int64_t replay, const ReplayedPart& part) {
  const ReplayResult& result = part.result;
  connection(
      "INSERT OR REPLACE INTO replayed (replay, part, verdict, values_compared, values_different, "
      "states_compared, states_different, values_found, first_difference, seconds) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
      replay, part.part, static_cast<std::int64_t>(result.verdict), result.values_compared,
      result.values_different, result.states_compared, result.states_different, result.values_found,
      result.first_difference, part.seconds)
      ->run();
}

bool comes_before(const Value& a, const Value& b) {
  const auto left = std::tie(a.place.epoch, a.place.step);
  const auto right = std::tie(b.place.epoch, b.place.step);
  if (left != right) return left < right;
  if (const int order = compare_inner(a.place.inner, b.place.inner); order != 0) return order < 0;
  return std::tie(a.name, a.ordinal, a.place.path) < std::tie(b.name, b.ordinal, b.place.path);
}

#define FLOR_IS_DOUBTFUL                                                       \
  "EXISTS (SELECT 1 FROM series JOIN apart ON apart.series = series.id WHERE " \
  "series.run = metric.run AND series.name = metric.name AND why = 1)"
#define FLOR_METRIC_COLUMNS \
  "SELECT name, type, count, last, minimum, maximum, recorded, " FLOR_IS_DOUBTFUL " FROM metric "

MetricSummary read_metric(const Query& row) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  MetricSummary metric;
  metric.name = row.text(0);
  metric.type = static_cast<ValueType>(row.integer(1));
  metric.count = row.integer(2);
  metric.last = read_scalar(row, 3);
  metric.minimum = row.is_null(4) ? kNone : row.real(4);
  metric.maximum = row.is_null(5) ? kNone : row.real(5);
  metric.hindsight = row.integer(6) == 0;
  metric.doubtful = row.integer(7) != 0;
  return metric;
}

}  // namespace

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::boolean:
      return "boolean";
    case ValueType::integer:
      return "integer";
    case ValueType::real:
      return "real";
    case ValueType::text:
      return "text";
    case ValueType::json:
      return "json";
    case ValueType::tensor:
      return "tensor";
    case ValueType::histogram:
      return "histogram";
    case ValueType::image:
      return "image";
    case ValueType::table:
      return "table";
  }
  return "unknown";
}

void Catalog::add_values(std::int64_t run, std::span<const Value> values) {
  if (values.empty()) return;
  if (says_in_journal(*database_, run)) {
    JournalWriting writing(*database_, run);
    writing.add_values(values);
    return writing.commit();
  }
  Writing writing(*database_);
  writing.add_values(run, values);
  writing.commit();
}

void insert_values(Database& database, std::int64_t run, std::span<const Value> values) {
  if (values.empty()) return;
  ValueInserter inserter(database, run);
  inserter.add(values);
  inserter.finish();
}

/// Deletes the completed parts of replays after the point. Returns, as an SQL list, the replays
/// that found values outside the loops after the point. It is not known which of their values these
/// are, so all of their values outside the loops are deleted.
std::string forget_parts_after(Connection& connection, std::int64_t run, const ResumePoint& point) {
  std::string replays;
  {
    const auto rows = connection(
        "SELECT DISTINCT replay FROM replayed JOIN replay ON replay.id = replayed.replay "
        "WHERE run = ?1 AND part < ?2",
        run, part_outside(point.main_loop));
    while (rows->step()) {
      replays += fmt::format("{}{}", replays.empty() ? "" : ", ", rows->integer(0));
    }
  }
  connection(
      "DELETE FROM replayed WHERE part >= ?2 AND replay IN (SELECT id FROM replay WHERE run = ?1)",
      run, point.epoch)
      ->run();
  connection(fmt::format("DELETE FROM replayed WHERE part < 0 AND replay IN ({})", replays))->run();
  return replays;
}

namespace {

/// "train" of "epoch/train/page"; empty in the body of the main loop, "epoch//page" included.
std::string_view nested_name(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == path.npos) return {};
  const std::string_view below = path.substr(slash + 1);
  return below.substr(0, below.find('/'));
}

}  // namespace

std::int64_t first_forgotten_step(std::string_view path, const ResumePoint& point) {
  if (point.loop.empty()) return -1;
  const std::string_view loop = nested_name(path);
  if (loop.empty()) return -1;
  if (loop == point.loop) return point.step;
  const bool kept = std::ranges::find(point.kept, loop) != point.kept.end();
  return kept ? std::numeric_limits<std::int64_t>::max() : -1;
}

void pack_values(Connection& connection, std::int64_t run) {
  std::vector<std::int64_t> all;
  {
    const auto rows = connection("SELECT id FROM series WHERE run = ?1", run);
    while (rows->step()) all.push_back(rows->integer(0));
  }
  SeriesBlocks blocks(connection);
  for (const std::int64_t series : all) blocks.pack(series, SeriesBlocks::Growth::ended);
}

void recount_metrics(Database& database, std::int64_t run) {
  Connection& connection = database.connection;
  connection(
      "DELETE FROM metric WHERE run = ?1 AND name NOT IN (SELECT name FROM series WHERE run = ?1)",
      run)
      ->run();
  ValueInserter inserter(database, run);
  const auto rows = connection("SELECT name FROM metric WHERE run = ?1", run);
  while (rows->step()) inserter.refresh(rows->text(0));
  inserter.finish();
}

namespace {

/// True for the point where a fork begins: what the program logs before it is not recorded yet.
bool begins_at(Connection& connection, std::int64_t run, const ResumePoint& point) {
  if (!point.boundary || !point.loop.empty()) return false;
  return connection("SELECT 1 FROM fork WHERE run = ?1 AND main_loop = ?2 AND iteration = ?3", run,
                    point.main_loop, point.iteration)
      ->step();
}

}  // namespace

void forget_values_after(Database& database, std::int64_t run, const ResumePoint& point) {
  Connection& connection = database.connection;
  ValueInserter inserter(database, run);
  const std::string unsure = forget_parts_after(connection, run, point);
  SeriesBlocks blocks(connection);
  const std::string later = fmt::format(
      "DELETE FROM value WHERE series = ?1 AND (epoch > ?2 OR (epoch = ?2 AND (step >= ?3 OR "
      "replay > 0)) OR (epoch < 0 AND (replay IN ({}) OR {})))",
      unsure, begins_at(connection, run, point) ? "replay = 0" : "FALSE");
  // An iteration that an exception ended has the same number as the first one of the next main
  // loop.
  std::set<std::string> complete;
  const auto loops = connection("SELECT name FROM main_loop WHERE run = ?1 AND ordinal < ?2", run,
                                point.main_loop);
  while (loops->step()) complete.insert(loops->text(0));
  const auto rows = connection(
      "SELECT id, name, path, coalesce(why, 0) FROM series LEFT JOIN apart ON apart.series = "
      "series.id WHERE run = ?1",
      run);
  while (rows->step()) {
    const std::string path = rows->text(2);
    if (complete.contains(path.substr(0, path.find('/')))) continue;
    const std::int64_t series = rows->integer(0);
    const auto blocks_gone =
        connection("DELETE FROM block WHERE series = ?1 AND first_epoch > ?2", series, point.epoch);
    blocks_gone->run();
    bool is_less = blocks_gone->changes() > 0;
    blocks.break_up(series, {point.epoch, INT64_MIN}, {INT64_MAX, INT64_MAX});
    // Code of the iteration before the step runs again, and its values are compared with the old
    // ones, which therefore stay.
    const bool on_the_way = !point.loop.empty() && nested_name(path).empty();
    const auto gone = connection(
        later, series, point.epoch,
        on_the_way ? std::numeric_limits<std::int64_t>::max() : first_forgotten_step(path, point));
    gone->run();
    const bool counts = rows->integer(3) != static_cast<std::int64_t>(Apart::other);
    is_less = is_less || gone->changes() > 0;
    if (is_less && counts) inserter.refresh(rows->text(1));
  }
  inserter.finish();
}

namespace {

/// Returns epochs that the run does not have in its main loops. A replay's values there belong to a
/// part outside the loops.
std::set<std::int64_t> added_epochs(std::span<const Value> values,
                                    std::span<const ReplayedPart> parts) {
  std::set<std::int64_t> known{-1}, added;
  for (const ReplayedPart& part : parts) known.insert(part.part);
  std::int64_t last = -1;
  for (const Value& value : values) {
    if (value.place.epoch == last) continue;
    last = value.place.epoch;
    if (!known.contains(last)) added.insert(last);
  }
  return added;
}

bool differs_already(Connection& connection, std::int64_t replay) {
  const auto row = connection("SELECT 1 FROM replayed WHERE replay = ?1 AND verdict = ?2", replay,
                              static_cast<std::int64_t>(Verdict::differs));
  return row->step();
}

/// Stores the verdicts on the parts, at once for consecutive epochs with equal verdicts. Returns
/// the worst verdict outside the loops.
ValueVerdict put_verdicts(Answers& answers, std::int64_t replay,
                          std::span<const ReplayedPart> parts, bool differs) {
  ValueVerdict outside = ValueVerdict::recorded, of_row = outside;
  Answers::Epochs row{0, -1};
  const auto put_row = [&] {
    if (row.first <= row.last) answers.put_verdict(replay, row, of_row);
  };
  for (const ReplayedPart& part : parts) {
    if (part.result.values_found == 0) continue;
    const ValueVerdict found = differs ? ValueVerdict::doubtful : part.found;
    const std::int64_t epoch = std::max<std::int64_t>(part.part, -1);
    if (part.part < 0) outside = std::max(outside, found);
    if (epoch <= 0 || epoch != row.last + 1 || found != of_row) {
      put_row();
      row.first = epoch;
      of_row = found;
    }
    row.last = epoch;
  }
  put_row();
  return outside;
}

}  // namespace

void Catalog::add_replayed(std::int64_t run, std::int64_t replay, std::span<const Value> values,
                           std::span<const ReplayedPart> parts) {
  Writing writing(*database_);
  writing.add_replayed(run, replay, values, parts);
  writing.commit();
}

void apply_replayed(Database& database, std::int64_t run, std::int64_t replay,
                    std::span<const Value> values, std::span<const ReplayedPart> parts) {
  Connection& connection = database.connection;
  ValueInserter inserter(database, run);
  const bool doubted = differs_already(connection, replay);
  const bool differs = doubted || std::ranges::any_of(parts, [](const ReplayedPart& part) {
                         return part.result.verdict == Verdict::differs;
                       });
  const ValueVerdict outside = put_verdicts(inserter.answers(), replay, parts, differs);
  for (const std::int64_t epoch : added_epochs(values, parts)) {
    inserter.answers().put_verdict(replay, epoch, outside);
  }
  if (differs && !doubted) inserter.answers().doubt(replay);
  inserter.answers().expect(replay, values);
  inserter.add(values);
  inserter.finish();
  for (const ReplayedPart& part : parts) insert_part(connection, replay, part);
}

void doubt_values(Database& database, std::int64_t run, std::int64_t replay) {
  ValueInserter inserter(database, run);
  inserter.answers().doubt(replay);
  inserter.finish();
}

void verify_values(Database& database, std::int64_t run, std::int64_t replay,
                   std::span<const std::int64_t> epochs) {
  ValueInserter inserter(database, run);
  for (const std::int64_t epoch : epochs) inserter.answers().verify(replay, epoch);
  inserter.finish();
}

std::vector<Value> Catalog::values(const ValueQuery& query) const {
  const Lock lock(database_->mutex);
  if (query.evaluated) follow_evaluations(*database_);
  ReadTransaction transaction(database_->connection);
  const std::unordered_set<std::string> wanted(query.names.begin(), query.names.end());
  const Verdicts verdicts(database_->connection, query);
  std::vector<Value> values;
  for (const SeriesToRead& series :
       series_to_read(database_->connection, query.run, query.names, query.others)) {
    SeriesReader reader(database_->connection, series.id, query.first_epoch, query.last_epoch);
    for (SeriesValue one; reader.next(one);) {
      if (one.replay == 0 ? !query.recorded : !query.hindsight) continue;
      Value& value = values.emplace_back(value_of(std::move(one), series.name, series.path));
      value.verdict = verdicts.of(value.replay, value.place.epoch);
    }
  }
  if (query.evaluated) {
    for (EvaluatedValue& found : load_evaluated(database_->connection, query.run)) {
      const std::int64_t epoch = found.value.place.epoch;
      const bool asked = wanted.empty() || wanted.contains(found.value.name);
      if (!asked || epoch < query.first_epoch || epoch > query.last_epoch) continue;
      values.push_back(std::move(found.value));
    }
  }
  std::stable_sort(values.begin(), values.end(), comes_before);
  return values;
}

std::vector<MetricSummary> Catalog::metrics(std::int64_t run) const {
  const Lock lock(database_->mutex);
  follow_evaluations(*database_);
  std::vector<MetricSummary> metrics;
  const auto rows =
      database_->connection(FLOR_METRIC_COLUMNS "WHERE run = ?1 AND count > 0 ORDER BY id", run);
  while (rows->step()) metrics.push_back(read_metric(*rows));
  std::ranges::move(summarize(load_evaluated(database_->connection, run)),
                    std::back_inserter(metrics));
  return metrics;
}

}  // namespace flor::store
