#include "index/values/overview.h"

#include "database/store_impl.h"
#include "database/values/scalar.h"
#include "index/refresh.h"
#include "index/values/evaluated.h"

#include <flor/store/store.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

std::int64_t change_mark(const Store& store) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow(database);
  const auto row = database.connection("PRAGMA data_version");
  row->step();
  return row->integer(0) + database.refreshes;
}

std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  std::unordered_map<std::int64_t, std::vector<Argument>> arguments;
  const auto rows =
      database.connection("SELECT run, name, type, value FROM argument ORDER BY run, ordinal");
  while (rows->step()) {
    arguments[rows->integer(0)].push_back({rows->text(1), rows->text(2), rows->text(3)});
  }
  return arguments;
}

AllMetrics::AllMetrics(const Store& store, MetricDetail detail) {
  constexpr std::int64_t kFew = 0, kMost = 1'000'000;
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow_evaluations(database);
  const auto most = database.connection("SELECT max(id) FROM metric");
  // Reserving too much is free, but growing the vector would copy the rows.
  if (most->step())
    rows_.reserve(static_cast<std::size_t>(std::clamp(most->integer(0), kFew, kMost)));
  std::string sql = "SELECT run, name, type, last ";
  if (detail == MetricDetail::all) sql += ", count, minimum, maximum, recorded ";
  const auto rows = database.connection(sql + "FROM metric WHERE count > 0 ORDER BY id");
  while (rows->step()) rows_.push_back(read_row(*rows, detail));
  // While runs log at the same time, their rows alternate; otherwise they are sorted already.
  if (!std::ranges::is_sorted(rows_, {}, &Row::run)) {
    std::ranges::stable_sort(rows_, {}, &Row::run);
  }
  const auto doubtful = database.connection(
      "SELECT DISTINCT run, name FROM apart JOIN series ON series.id = apart.series WHERE why = 1");
  while (doubtful->step()) doubtful_.emplace(doubtful->integer(0), doubtful->text(1));
  for (const std::int64_t run : evaluated_runs(database.connection)) {
    evaluated_[run] = summarize(load_evaluated(database.connection, run));
  }
}

AllMetrics::Row AllMetrics::read_row(const Query& from, MetricDetail detail) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Row row{};
  row.run = from.integer(0);
  row.name = intern(from.text_view(1));
  row.type = static_cast<ValueType>(from.integer(2));
  Scalar last = read_scalar(from, 3);
  row.kind = static_cast<std::uint8_t>(last.index());
  if (const auto* integer = std::get_if<std::int64_t>(&last)) {
    row.integer = *integer;
  } else if (const auto* real = std::get_if<double>(&last)) {
    row.real = *real;
  } else {
    row.integer = static_cast<std::int64_t>(texts_.size());
    texts_.push_back(std::get<std::string>(std::move(last)));
  }
  if (detail == MetricDetail::last) return row;
  row.count = from.integer(4);
  row.minimum = from.is_null(5) ? kNone : from.real(5);
  row.maximum = from.is_null(6) ? kNone : from.real(6);
  row.hindsight = from.integer(7) == 0;
  return row;
}

std::uint32_t AllMetrics::intern(std::string_view name) {
  // Consecutive runs mostly log the same names in the same order, so the next name is guessed
  // first.
  if (!rows_.empty()) {
    const std::size_t guess = (rows_.back().name + 1) % names_.size();
    if (names_[guess] == name) return static_cast<std::uint32_t>(guess);
  }
  const auto [at, is_new] =
      index_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.emplace_back(name);
  return at->second;
}

void AllMetrics::read(std::int64_t run, std::vector<MetricSummary>& metrics) const {
  const auto first = std::ranges::lower_bound(rows_, run, {}, &Row::run);
  const std::span rows(first, std::ranges::upper_bound(first, rows_.end(), run, {}, &Row::run));
  metrics.resize(rows.size());
  std::size_t i = 0;
  for (const Row& row : rows) {
    MetricSummary& metric = metrics[i++];
    metric.name = names_[row.name];
    metric.type = row.type;
    metric.count = row.count;
    switch (row.kind) {
      case 0:
        metric.last = row.integer;
        break;
      case 1:
        metric.last = row.real;
        break;
      default:
        metric.last = texts_[static_cast<std::size_t>(row.integer)];
    }
    metric.minimum = row.minimum;
    metric.maximum = row.maximum;
    metric.hindsight = row.hindsight;
    metric.evaluated = false;
    metric.doubtful = !doubtful_.empty() && doubtful_.contains({run, metric.name});
  }
  const auto found = evaluated_.find(run);
  if (found == evaluated_.end()) return;
  metrics.insert(metrics.end(), found->second.begin(), found->second.end());
}

}  // namespace flor::store
