// Facts about all runs at once, for a view of all runs that stays open, and a way to see whether
// they have changed.
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

/// Returns a number that changes when another process, or another `Store` in this one, changes the
/// catalog, but not when a process dies. Very cheap. Thread-safe.
std::int64_t change_mark(const Store& store);

/// Returns the arguments of every run, by the run's id, each in the order of `Catalog::arguments`.
std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store);

/// The numbers that `AllMetrics` holds of each metric.
enum class MetricDetail : std::uint8_t {
  all,
  last,  ///< name, type and last value; the other fields have the defaults of `MetricSummary`
};

/// The metrics of every run at the time of construction, in little memory, for views of thousands
/// of runs. Several threads may read it at once.
class AllMetrics {
 public:
  AllMetrics(const Store& store, MetricDetail detail);

  /// Sets `metrics` to what `Catalog::metrics` returns for the run, reusing its memory.
  void read(std::int64_t run, std::vector<MetricSummary>& metrics) const;

 private:
  struct Row {
    std::int64_t run, count;
    double minimum, maximum;
    union {
      std::int64_t integer;  ///< for a text, the index in `texts_`
      double real;
    };
    std::uint32_t name;  ///< index in `names_`
    ValueType type;
    std::uint8_t kind;  ///< index of the alternative of `Scalar`
    bool hindsight;
  };

  Row read_row(const Query& row, MetricDetail detail);
  std::uint32_t intern(std::string_view name);

  std::set<std::pair<std::int64_t, std::string>> doubtful_;  // run and name
  std::vector<Row> rows_;  // by run; those of a run in the order in which its metrics were first
                           // logged
  std::vector<std::string> names_, texts_;
  std::unordered_map<std::string, std::uint32_t> index_;  // by name
  std::unordered_map<std::int64_t, std::vector<MetricSummary>> evaluated_;
};

}  // namespace flor::store
