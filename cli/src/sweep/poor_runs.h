// Which recordings of a sweep are not worth going on with. Pure: it knows numbers, not processes.
#pragma once

#include <flor/store/ranking.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// A metric and which of its values are good: "loss:min".
struct Goal {
  std::string metric;
  store::ScoreOrder order = store::ScoreOrder::min;

  /// Throws UsageError for text without ":min" or ":max". `option`: that has the text.
  static Goal parse(std::string_view option, std::string_view text);
  std::string text() const;
};

/// The value of a metric after each complete epoch of a run; NaN where there is none.
using MetricCourse = std::vector<double>;

/// Others that have come as far are needed to judge a run.
inline constexpr std::size_t kLeastOthers = 3;

/// The median rule: a run is poor if its best value until now is worse than the median of the means
/// that the others had of their values until that epoch. Not before `after` epochs, and not where
/// less than `kLeastOthers` have come as far. A run without any number is poor where others have
/// some.
bool is_poor(std::span<const MetricCourse> others, const MetricCourse& own, store::ScoreOrder order,
             std::size_t after);

}  // namespace flor::cli
