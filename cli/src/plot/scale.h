// Axes: map values to places on a line, and choose the values written beside it. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace flor::cli {

struct Range {
  double low = 0, high = 0;

  /// Widens the range to hold `value`; NaN and infinities are ignored.
  void add(double value);
  bool empty() const { return !(low <= high); }
  /// A range to which nothing was added yet.
  static Range none();
};

struct Tick {
  double value = 0;
  std::string label;
};

enum class ScaleKind {
  linear,
  whole,        ///< linear, with only whole numbers written beside it
  logarithmic,  ///< of a range above 0
};

/// Maps values between the ends of an axis.
class Scale {
 public:
  /// An empty range is replaced by 0 to 1, one of a single value is widened around it. `margin` is
  /// the share of the axis that stays free at either end.
  Scale(Range range, ScaleKind kind, double margin = 0);

  /// 0 at the low end, 1 at the high one.
  double share(double value) const;
  /// At most `most` values (at least 2) that are easy to read: multiples of 1, 2 or 5 times a power
  /// of ten; on a logarithmic axis powers of ten, with their double and fivefold if there is room.
  /// All labels of an axis have the same form. If fewer than two of them are on the axis (a
  /// logarithmic one of less than a factor of two), it is treated as linear.
  std::vector<Tick> ticks(int most) const;
  const Range& range() const { return range_; }

 private:
  std::vector<Tick> linear_ticks(int most) const;
  std::vector<Tick> logarithmic_ticks(int most) const;

  Range range_;  ///< with its margins
  ScaleKind kind_;
};

/// A value for a legend: 6 significant digits.
std::string value_text(double value);

}  // namespace flor::cli
