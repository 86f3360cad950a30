// Runs that may meet a condition, found in the index without reading every run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// A number that a run has as one of the metrics or as the argument, and the range in which it must
/// lie, both ends included.
struct NumberTest {
  enum class Of : std::uint8_t { last, minimum, maximum, any };  ///< any: it only has to exist
  struct Metric {
    std::string name;
    Of of = Of::last;
  };
  std::vector<Metric> metrics;
  std::string argument;  ///< empty: none
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// The ids of runs for which all tests may hold, newest first: they include each run for which the
/// tests do hold, and possibly others. Nothing if there are no tests. Thread-safe.
std::optional<std::vector<std::int64_t>> runs_that_may_meet(const Store& store,
                                                            std::span<const NumberTest> tests);

/// True if a run of the experiment (if that is empty, any run) has one of the metrics or the
/// argument. Thread-safe.
bool has_any_named(const Store& store, const std::string& experiment, const NumberTest& names);

}  // namespace flor::store
