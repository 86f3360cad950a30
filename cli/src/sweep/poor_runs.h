// Decides which recordings of a sweep are not worth continuing. Pure: it works on numbers alone.
#pragma once

#include <flor/store/keep_rules.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// A metric, and whether small or large values of it are good: "loss:min".
struct Goal {
  std::string metric;
  store::ScoreOrder order = store::ScoreOrder::min;

  /// Throws UsageError if `text` does not end in ":min" or ":max". `option`: the option that has
  /// the text.
  static Goal parse(std::string_view option, std::string_view text);
  std::string text() const;
};

/// The value of a metric after each complete epoch of a run; NaN if an epoch has none.
using MetricCourse = std::vector<double>;

/// A run is judged only if at least this many other runs have made as many epochs.
inline constexpr std::size_t kLeastOthers = 3;

/// The median stopping rule: a run is poor if its best value so far is worse than the median, over
/// the other runs, of the mean of their values up to the same epoch. Never before `after` epochs,
/// and only if at least `kLeastOthers` runs have come as far. A run without any number is poor if
/// the others have numbers.
bool is_poor(std::span<const MetricCourse> others, const MetricCourse& own, store::ScoreOrder order,
             std::size_t after);

}  // namespace flor::cli
