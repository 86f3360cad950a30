// Mean and deviation of numbers of several runs.
#pragma once

#include "output/json.h"

#include <cstdint>
#include <optional>

namespace flor::cli {

/// Gathers numbers one by one, without a loss of digits where they are many, large, or close
/// together: by their distances to the first of them (Welford, Technometrics 4, 1962), in more
/// digits than a double has. NaN and infinities are counted, and enter nothing else.
class Spread {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }            ///< of finite numbers
  std::int64_t not_finite() const { return not_finite_; }  ///< NaN and infinities
  /// Absent where there is no finite number.
  std::optional<double> mean() const;
  std::optional<double> least() const;
  std::optional<double> greatest() const;
  /// The deviation of a sample (divided by n - 1); absent for fewer than two numbers.
  std::optional<double> deviation() const;

 private:
  std::int64_t count_ = 0, not_finite_ = 0;
  double first_ = 0;
  long double mean_ = 0, squares_ = 0;  // mean_: from first_ on; squares_: of distances to the mean
  double least_ = 0, greatest_ = 0;
};

/// {"n", "not_finite", "mean", "deviation", "min", "max"}; null for what there is none of.
Json spread_json(const Spread& spread);

}  // namespace flor::cli
