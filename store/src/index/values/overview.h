// For a view of all runs that stays open: facts of every run at once, and whether they have changed
// since.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flor::store {

class Query;
class Store;

/// A number that changes when another process, or another `Store` of this one, changes the catalog.
/// Costs next to nothing. Does not change when a process dies. Thread-safe.
std::int64_t change_mark(const Store& store);

/// The arguments of every run at once, by the run's id; those of each run in the order of
/// `Catalog::arguments`.
std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store);

/// The amount of data that `AllMetrics` has of each metric.
enum class MetricDetail : std::uint8_t {
  all,
  last,  ///< name, type, last value; the rest has the defaults of `MetricSummary`
};

/// The metrics of every run, as they were when it was made, in little memory: for views that go
/// through thousands of runs. Reading it from several threads at once is safe.
class AllMetrics {
 public:
  AllMetrics(const Store& store, MetricDetail detail);

  /// Writes what `Catalog::metrics` returns for the run into `metrics`, and reuses its memory.
  void read(std::int64_t run, std::vector<MetricSummary>& metrics) const;

 private:
  struct Row {
    std::int64_t run, count;
    double minimum, maximum;
    union {
      std::int64_t integer;  ///< for a text: its index in `texts_`
      double real;
    };
    std::uint32_t name;  ///< index in `names_`
    ValueType type;
    std::uint8_t kind;  ///< index of `Scalar`
    bool hindsight;
  };

  Row read_row(const Query& row, MetricDetail detail);
  std::uint32_t intern(std::string_view name);

  std::set<std::pair<std::int64_t, std::string>> doubtful_;  // names of runs
  std::vector<Row> rows_;  // by run; those of each in the order of their first values
  std::vector<std::string> names_, texts_;
  std::unordered_map<std::string, std::uint32_t> index_;  // of names
  std::unordered_map<std::int64_t, std::vector<MetricSummary>> evaluated_;
};

}  // namespace flor::store
