#include "index/values/candidates.h"

#include "database/store_impl.h"
#include "index/refresh.h"
#include "index/values/evaluated.h"

#include <flor/store/store.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>

namespace flor::store {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

/// Widens a bound a little, for two reasons: SQLite compares integers exactly, while conditions
/// compare doubles; and SQLite may convert the last digit of a text differently.
double rounded_up(double bound) {
  constexpr double kUlps = 1e-14;
  return std::isinf(bound) ? bound : std::nextafter(bound + std::abs(bound) * kUlps, INFINITY);
}
double rounded_down(double bound) { return -rounded_up(-bound); }

/// A set of runs, stored as one flag per id.
class RunSet {
 public:
  explicit RunSet(std::int64_t last) : has_(static_cast<std::size_t>(last) + 1) {}

  void add(std::int64_t run) {
    const auto at = static_cast<std::size_t>(run);
    if (run >= 0 && at < has_.size()) has_[at] = true;
  }
  void add_rows(Query& runs) {
    while (runs.step()) add(runs.integer(0));
  }
  void intersect(const RunSet& other) {
    for (std::size_t i = 0; i < has_.size(); ++i) has_[i] = has_[i] && other.has_[i];
  }
  std::vector<std::int64_t> newest_first() const {
    std::vector<std::int64_t> runs;
    for (std::size_t i = has_.size(); i-- > 0;) {
      if (has_[i]) runs.push_back(static_cast<std::int64_t>(i));
    }
    return runs;
  }

 private:
  std::vector<bool> has_;
};

/// Returns the SQL condition that the number lies within the bounds.
const char* condition_of(NumberTest::Of of) {
  switch (of) {
    case NumberTest::Of::last:
      return "last BETWEEN ?2 AND ?3";
    case NumberTest::Of::minimum:
      return "minimum BETWEEN ?2 AND ?3";
    case NumberTest::Of::maximum:
      return "maximum BETWEEN ?2 AND ?3";
    case NumberTest::Of::any:
      break;
  }
  return "?2 <= ?3";
}

/// Uses one query per range, because for an OR of two ranges SQLite would read all rows with the
/// name.
void add_by_metric(Connection& connection, const NumberTest& test, const NumberTest::Metric& metric,
                   RunSet& runs) {
  runs.add_rows(*connection(std::string("SELECT run FROM metric WHERE name = ?1 AND ") +
                                condition_of(metric.of),
                            metric.name, rounded_down(test.least), rounded_up(test.most)));
  if (metric.of != NumberTest::Of::last) return;
  // Texts sort after all numbers. Whether they meet the condition is decided later.
  runs.add_rows(*connection("SELECT run FROM metric WHERE name = ?1 AND last >= ''", metric.name));
}

/// A text that is not a number counts as 0 here, as SQLite converts it.
void add_by_argument(Connection& connection, const NumberTest& test, RunSet& runs) {
  runs.add_rows(*connection(
      "SELECT run FROM argument WHERE name = ?1 AND CAST(value AS REAL) BETWEEN ?2 AND ?3",
      test.argument, rounded_down(test.least), rounded_up(test.most)));
  runs.add_rows(*connection("SELECT run FROM argument WHERE name = ?1 AND CAST(value AS REAL) = 0",
                            test.argument));
}

std::int64_t last_run(Connection& connection) {
  const auto row = connection("SELECT coalesce(max(id), 0) FROM run");
  row->step();
  return row->integer(0);
}

}  // namespace

std::optional<std::vector<std::int64_t>> runs_that_may_meet(const Store& store,
                                                            std::span<const NumberTest> tests) {
  if (tests.empty()) return std::nullopt;
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  follow_evaluations(database);
  const ReadTransaction transaction(database.connection);
  const std::vector<std::int64_t> evaluated = evaluated_runs(database.connection);
  const std::int64_t last = last_run(database.connection);
  std::optional<RunSet> all;
  for (const NumberTest& test : tests) {
    RunSet runs(last);
    for (const NumberTest::Metric& metric : test.metrics) {
      add_by_metric(database.connection, test, metric, runs);
    }
    if (!test.metrics.empty()) {
      for (const std::int64_t run : evaluated) runs.add(run);
    }
    if (!test.argument.empty()) add_by_argument(database.connection, test, runs);
    all ? all->intersect(runs) : void(all.emplace(std::move(runs)));
  }
  return all->newest_first();
}

bool has_any_named(const Store& store, const std::string& experiment, const NumberTest& names) {
  Database& database = *store.impl().database;
  const Lock lock(database.mutex);
  const auto has = [&](const char* rows, const std::string& name) {
    return database
        .connection(std::string("SELECT 1 FROM ") + rows +
                        " AND (?2 = '' OR EXISTS (SELECT 1 FROM run JOIN experiment ON "
                        "experiment.id = run.experiment WHERE run.id = named.run AND "
                        "experiment.name = ?2)) LIMIT 1",
                    name, experiment)
        ->step();
  };
  return std::ranges::any_of(names.metrics,
                             [&](const NumberTest::Metric& metric) {
                               return has("metric AS named WHERE name = ?1 AND count > 0",
                                          metric.name);
                             }) ||
         (!names.argument.empty() && has("argument AS named WHERE name = ?1", names.argument));
}

}  // namespace flor::store
