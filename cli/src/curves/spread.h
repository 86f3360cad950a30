// Mean and standard deviation of the numbers of several runs.
#pragma once

#include "output/json.h"

#include <cstdint>
#include <optional>

namespace flor::cli {

/// Accumulates numbers one by one. Sums distances to the first number (Welford, Technometrics 4,
/// 1962) in long double, so that no digits are lost if the numbers are many, large or close
/// together. NaN and infinities are only counted.
class Spread {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }            ///< finite numbers
  std::int64_t not_finite() const { return not_finite_; }  ///< NaN and infinities
  /// These return nullopt if there is no finite number.
  std::optional<double> mean() const;
  std::optional<double> least() const;
  std::optional<double> greatest() const;
  /// The standard deviation of a sample (divided by n - 1); nullopt for fewer than two numbers.
  std::optional<double> deviation() const;

 private:
  std::int64_t count_ = 0, not_finite_ = 0;
  double first_ = 0;
  long double mean_ = 0, squares_ = 0;  // mean_: minus first_; squares_: sum of squared distances
                                        // to the mean
  double least_ = 0, greatest_ = 0;
};

/// {"n", "not_finite", "mean", "deviation", "min", "max"}; null for a value that is nullopt.
Json spread_json(const Spread& spread);

}  // namespace flor::cli
