#include "curves/spread.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace flor::cli {

void Spread::add(double value) {
  if (!std::isfinite(value)) {
    ++not_finite_;
    return;
  }
  least_ = count_ == 0 ? value : std::min(least_, value);
  greatest_ = count_ == 0 ? value : std::max(greatest_, value);
  if (count_ == 0) first_ = value;
  ++count_;
  const long double from_first = static_cast<long double>(value) - first_;
  const long double distance = from_first - mean_;
  mean_ += distance / static_cast<long double>(count_);
  squares_ += distance * (from_first - mean_);
}

std::optional<double> Spread::mean() const {
  if (count_ == 0) return std::nullopt;
  // Rounding must not move the mean out of the range of the numbers.
  return std::clamp(static_cast<double>(first_ + mean_), least_, greatest_);
}

std::optional<double> Spread::least() const {
  return count_ == 0 ? std::nullopt : std::optional(least_);
}

std::optional<double> Spread::greatest() const {
  return count_ == 0 ? std::nullopt : std::optional(greatest_);
}

std::optional<double> Spread::deviation() const {
  if (count_ < 2) return std::nullopt;
  return static_cast<double>(std::sqrt(squares_ / static_cast<long double>(count_ - 1)));
}

Json spread_json(const Spread& spread) {
  const auto number = [](std::optional<double> value) { return value ? Json(*value) : Json(); };
  return {{"n", spread.count()},           {"not_finite", spread.not_finite()},
          {"mean", number(spread.mean())}, {"deviation", number(spread.deviation())},
          {"min", number(spread.least())}, {"max", number(spread.greatest())}};
}

}  // namespace flor::cli
