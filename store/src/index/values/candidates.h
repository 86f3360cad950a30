// Uses the index to find runs that may meet a condition, without reading every run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// Tests whether a number of a run (of one of the metrics, or the argument) lies in a range, both
/// ends included.
struct NumberTest {
  enum class Of : std::uint8_t { last, minimum, maximum, any };  ///< `any`: it only has to exist
  struct Metric {
    std::string name;
    Of of = Of::last;
  };
  std::vector<Metric> metrics;
  std::string argument;  ///< empty: no argument
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// Returns the ids of a superset of the runs that pass all tests, newest first. Returns nullopt if
/// there are no tests. Thread-safe.
std::optional<std::vector<std::int64_t>> runs_that_may_meet(const Store& store,
                                                            std::span<const NumberTest> tests);

/// True if any run of the experiment (empty: any run) has one of the metrics or the argument.
/// Thread-safe.
bool has_any_named(const Store& store, const std::string& experiment, const NumberTest& names);

}  // namespace flor::store
