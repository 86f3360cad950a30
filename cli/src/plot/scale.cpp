#include "plot/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace flor::cli {
namespace {

constexpr double kManyDigits = 1e6, kFewDigits = 1e-4;

/// The least number of the form 1, 2 or 5 times a power of ten that is at least `least`.
double nice_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// Scientific notation without superfluous digits: "2.5e-5" instead of "2.5e-05", "1e6" instead of
/// "1.0e+06".
std::string scientific(double value, int digits) {
  std::string text = fmt::format("{:.{}e}", value, digits);
  const std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != mantissa.npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.back() == '.') mantissa.pop_back();
  }
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
}

/// Labels of multiples of `step`; `largest` is the largest absolute value.
class Labels {
 public:
  Labels(double step, double largest)
      : decimals_(std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)))) {
    scientific_ = largest >= kManyDigits || (largest > 0 && largest < 10 * kFewDigits);
    if (scientific_) {
      decimals_ = std::max(0, static_cast<int>(std::floor(std::log10(largest) + 1e-9) -
                                               std::floor(std::log10(step) + 1e-9)));
    }
  }
  std::string operator()(double value) const {
    if (value == 0) return "0";
    return scientific_ ? scientific(value, decimals_) : fmt::format("{:.{}f}", value, decimals_);
  }

 private:
  int decimals_;
  bool scientific_ = false;
};

std::string power_label(double value) {
  if (value >= kManyDigits || value < kFewDigits) return scientific(value, 0);
  return fmt::format("{:.{}f}", value,
                     std::max(0, -static_cast<int>(std::floor(std::log10(value) + 1e-9))));
}

}  // namespace

Range Range::none() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {kInfinity, -kInfinity};
}

void Range::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Scale::Scale(Range range, ScaleKind kind, double margin) : range_(range), kind_(kind) {
  if (range_.empty()) range_ = kind == ScaleKind::logarithmic ? Range{1, 10} : Range{0, 1};
  const bool logarithmic = kind == ScaleKind::logarithmic;
  double low = logarithmic ? std::log10(range_.low) : range_.low;
  double high = logarithmic ? std::log10(range_.high) : range_.high;
  // Halves are subtracted because the difference of the greatest doubles would overflow.
  const double size = std::max(std::abs(low), std::abs(high));
  if (high / 2 - low / 2 <= size * 1e-12) {
    const double around = logarithmic ? 0.5 : kind == ScaleKind::whole ? 0.5 : size * 0.1;
    low -= around > 0 ? around : 0.5;
    high += around > 0 ? around : 0.5;
  }
  const double free = margin * (high / 2 - low / 2) * 2;
  low = std::max(low - free, -std::numeric_limits<double>::max());
  high = std::min(high + free, std::numeric_limits<double>::max());
  range_ = logarithmic ? Range{std::pow(10, low), std::pow(10, high)} : Range{low, high};
}

double Scale::share(double value) const {
  if (kind_ == ScaleKind::logarithmic) {
    const double low = std::log10(range_.low), high = std::log10(range_.high);
    return (std::log10(value) - low) / (high - low);
  }
  return (value / 2 - range_.low / 2) / (range_.high / 2 - range_.low / 2);
}

std::vector<Tick> Scale::linear_ticks(int most) const {
  const double length = range_.high / 2 - range_.low / 2;
  double step = nice_step(length / std::max(most, 2) * 2);
  if (kind_ == ScaleKind::whole) step = std::max(step, 1.0);
  // The ends may lie so that one multiple more fits between them than the length suggests.
  const auto count = [&](double by) {
    return std::floor(range_.high / by + 1e-9) - std::ceil(range_.low / by - 1e-9) + 1;
  };
  while (count(step) > std::max(most, 2)) step = nice_step(step * 1.5);
  const double first = std::ceil(range_.low / step - 1e-9);
  const Labels label(step, std::max(std::abs(range_.low), std::abs(range_.high)));
  std::vector<Tick> ticks;
  for (double i = 0; i < count(step); ++i) {
    const double value = (first + i) * step;
    ticks.push_back({value, label(value)});
  }
  return ticks;
}

std::vector<Tick> Scale::logarithmic_ticks(int most) const {
  const double low = std::log10(range_.low), high = std::log10(range_.high);
  std::vector<Tick> ticks;
  const int decades = static_cast<int>(std::floor(high + 1e-9) - std::ceil(low - 1e-9)) + 1;
  const int stride = std::max(1, (decades + most - 1) / std::max(most, 1));
  const bool between = stride == 1 && 3 * (high - low) + 1 <= most;
  for (int power = static_cast<int>(std::floor(low)); power <= high + 1e-9; ++power) {
    if (((power % stride) + stride) % stride != 0) continue;
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && !between) break;
      const double value = factor * std::pow(10, power);
      if (value < range_.low * (1 - 1e-9) || value > range_.high * (1 + 1e-9)) continue;
      ticks.push_back({value, power_label(value)});
    }
  }
  return ticks;
}

std::vector<Tick> Scale::ticks(int most) const {
  if (kind_ != ScaleKind::logarithmic) return linear_ticks(most);
  std::vector<Tick> ticks = logarithmic_ticks(most);
  return ticks.size() >= 2 ? ticks : linear_ticks(most);
}

std::string value_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
}

}  // namespace flor::cli
