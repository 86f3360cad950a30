// What a view of all runs needs that stays open: facts of every run at once, and whether they have
// changed since.
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

/// Another number than before, when another process, or another `Store` of this one, has changed
/// the catalog since. Costs next to nothing. Says nothing of processes that died. Thread-safe.
std::int64_t change_mark(const Store& store);

/// The arguments of every run at once, by the run's id; of each in the order of
/// `Catalog::arguments`.
std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store);

/// How much of each metric `AllMetrics` has.
enum class MetricDetail : std::uint8_t {
  all,
  last,  ///< name, type, last value; the rest is left as `MetricSummary` begins
};

/// The metrics of every run, as they were when it was made, in little memory: for views that go
/// through thousands of runs. Reading it from several threads at once is safe.
class AllMetrics {
 public:
  AllMetrics(const Store& store, MetricDetail detail);

  /// What `Catalog::metrics` says of the run, into `metrics`, whose memory is used again.
  void read(std::int64_t run, std::vector<MetricSummary>& metrics) const;

 private:
  struct Row {
    std::int64_t run, count;
    double minimum, maximum;
    union {
      std::int64_t integer;  ///< of a text: its index in `texts_`
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
  std::vector<Row> rows_;  // by run; of each in the order in which they were first logged
  std::vector<std::string> names_, texts_;
  std::unordered_map<std::string, std::uint32_t> index_;  // of names
  std::unordered_map<std::int64_t, std::vector<MetricSummary>> evaluated_;
};

}  // namespace flor::store
