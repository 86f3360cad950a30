// Axes: map values to positions, and choose the values that are written beside them. Pure
// functions.
#pragma once

#include <string>
#include <vector>

namespace flor::cli {

struct Range {
  double low = 0, high = 0;

  /// Widens the range to hold `value`; NaN and infinities are ignored.
  void add(double value);
  bool empty() const { return !(low <= high); }
  /// An empty range, to which values can be added.
  static Range none();
};

struct Tick {
  double value = 0;
  std::string label;
};

enum class ScaleKind {
  linear,
  whole,        ///< linear, labelled with whole numbers only
  logarithmic,  ///< the range must be above 0
};

/// Maps values between the ends of an axis.
class Scale {
 public:
  /// Replaces an empty range by 0 to 1, and widens a range of a single value around it. `margin` is
  /// the share of the axis that stays free at either end.
  Scale(Range range, ScaleKind kind, double margin = 0);

  /// The position on the axis: 0 at the low end, 1 at the high end.
  double share(double value) const;
  /// Returns values that are easy to read, no more than `most`, which must be at least 2. On a
  /// linear axis: multiples of 1, 2 or 5 times a power of ten. On a logarithmic axis: powers of
  /// ten, with their double and fivefold if there is room; if that gives fewer than two, the values
  /// of a linear axis. All labels of an axis have the same form.
  std::vector<Tick> ticks(int most) const;
  const Range& range() const { return range_; }

 private:
  std::vector<Tick> linear_ticks(int most) const;
  std::vector<Tick> logarithmic_ticks(int most) const;

  Range range_;  ///< including its margins
  ScaleKind kind_;
};

/// A value for a legend: 6 significant digits.
std::string value_text(double value);

}  // namespace flor::cli
