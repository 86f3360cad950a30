#include "sweep/poor_runs.h"

#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace flor::cli {
namespace {

/// The mean of the first `epochs` values; nullopt if none of them is a number.
std::optional<double> mean_until(const MetricCourse& course, std::size_t epochs) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < epochs; ++i) {
    if (std::isnan(course[i])) continue;
    sum += course[i];
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

std::optional<double> best_of(const MetricCourse& course, store::ScoreOrder order) {
  std::optional<double> best;
  for (const double value : course) {
    if (std::isnan(value)) continue;
    const bool is_better =
        !best || (order == store::ScoreOrder::min ? value < *best : value > *best);
    if (is_better) best = value;
  }
  return best;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

Goal Goal::parse(std::string_view option, std::string_view text) {
  for (const auto order : {store::ScoreOrder::min, store::ScoreOrder::max}) {
    const std::string end = fmt::format(":{}", store::to_string(order));
    if (text.ends_with(end) && text.size() > end.size()) {
      return {std::string(text.substr(0, text.size() - end.size())), order};
    }
  }
  throw UsageError(fmt::format("{} {}: which values are good? {} {}:min or {}:max", option,
                               printable(text), option, printable(text), printable(text)));
}

std::string Goal::text() const { return fmt::format("{}:{}", metric, store::to_string(order)); }

bool is_poor(std::span<const MetricCourse> others, const MetricCourse& own, store::ScoreOrder order,
             std::size_t after) {
  if (own.empty() || own.size() < after) return false;
  std::vector<double> means;
  for (const MetricCourse& course : others) {
    if (course.size() < own.size()) continue;
    if (const auto mean = mean_until(course, own.size())) means.push_back(*mean);
  }
  if (means.size() < kLeastOthers) return false;
  const auto best = best_of(own, order);
  if (!best) return true;
  const double usual = median(std::move(means));
  return order == store::ScoreOrder::min ? *best > usual : *best < usual;
}

}  // namespace flor::cli
