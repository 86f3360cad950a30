#include "index/values/value_stream.h"

#include "database/database.h"
#include "database/store_impl.h"
#include "database/values/scalar.h"
#include "database/values/series_blocks.h"
#include "index/refresh.h"
#include "index/values/answers.h"
#include "index/values/evaluated.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace flor::store {
namespace {

/// Returns the series to read, by names in the order in which they were first logged.
std::vector<SeriesToRead> series_of(Connection& connection, std::int64_t run,
                                    std::span<const std::string> names, bool others) {
  std::vector<SeriesToRead> series = series_to_read(connection, run, names, others);
  std::unordered_map<std::string, std::size_t> order;
  for (const SeriesToRead& row : series) order.try_emplace(row.name, order.size());
  std::ranges::stable_sort(series, {}, [&](const SeriesToRead& row) { return order.at(row.name); });
  return series;
}

bool same_step(const Value& a, const Value& b) {
  return std::tie(a.place.epoch, a.place.step) == std::tie(b.place.epoch, b.place.step);
}

bool inner_before(const Value& a, const Value& b) {
  return compare_inner(a.place.inner, b.place.inner) < 0;
}

/// Reads a series in order. Only the values within a step need sorting: indices of deeper loops are
/// stored in the order of text.
void read_series(Connection& connection, const SeriesToRead& series, const ValueQuery& query,
                 const Verdicts& verdicts, const std::function<void(Value&&)>& sink) {
  SeriesReader reader(connection, series.id, query.first_epoch, query.last_epoch);
  std::vector<Value> of_step;
  const auto flush = [&] {
    std::ranges::stable_sort(of_step, inner_before);
    for (Value& value : of_step) sink(std::move(value));
    of_step.clear();
  };
  for (SeriesValue one; reader.next(one);) {
    if (one.replay == 0 ? !query.recorded : !query.hindsight) continue;
    Value value = value_of(std::move(one), series.name, series.path);
    value.verdict = verdicts.of(value.replay, value.place.epoch);
    if (!of_step.empty() && !same_step(of_step.back(), value)) flush();
    if (value.place.inner.empty()) {
      sink(std::move(value));
    } else {
      of_step.push_back(std::move(value));
    }
  }
  flush();
}

std::vector<EvaluatedValue> evaluated_values(Database& database, std::int64_t run) {
  std::vector<EvaluatedValue> values;
  {
    const std::lock_guard lock(database.mutex);
    follow_evaluations(database);
    values = load_evaluated(database.connection, run);
  }
  std::ranges::stable_sort(values, {}, [](const EvaluatedValue& found) {
    return std::tie(found.value.name, found.value.place.epoch, found.value.place.step,
                    found.value.ordinal);
  });
  return values;
}

}  // namespace

void each_value(const Store& store, const ValueQuery& query,
                const std::function<void(Value&&)>& sink) {
  Database& database = *store.impl().database;
  const std::unordered_set<std::string> wanted(query.names.begin(), query.names.end());
  const auto is_wanted = [&](const std::string& name) {
    return wanted.empty() || wanted.contains(name);
  };
  {
    const auto connection = open_for_reading(database.paths);
    ReadTransaction transaction(*connection);
    const Verdicts verdicts(*connection, query);
    for (const SeriesToRead& series :
         series_of(*connection, query.run, query.names, query.others)) {
      read_series(*connection, series, query, verdicts, sink);
    }
  }
  if (!query.evaluated) return;
  for (EvaluatedValue& found : evaluated_values(database, query.run)) {
    const std::int64_t epoch = found.value.place.epoch;
    const bool asked = epoch >= query.first_epoch && epoch <= query.last_epoch;
    if (asked && is_wanted(found.value.name)) sink(std::move(found.value));
  }
}

std::vector<std::string> value_paths(const Store& store, std::int64_t run,
                                     std::span<const std::string> names) {
  Database& database = *store.impl().database;
  const std::lock_guard lock(database.mutex);
  std::set<std::string> paths;
  if (names.empty()) return {};
  for (const SeriesToRead& series : series_to_read(database.connection, run, names, false)) {
    paths.insert(series.path);
  }
  return {paths.begin(), paths.end()};
}

}  // namespace flor::store
