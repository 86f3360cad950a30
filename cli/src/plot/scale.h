// Axes: from values to places on a line, and the values that are written beside it. Pure functions.
#pragma once

#include <string>
#include <vector>

namespace flor::cli {

struct Range {
  double low = 0, high = 0;

  /// Widens it to hold `value`; NaN and infinities are ignored.
  void add(double value);
  bool empty() const { return !(low <= high); }
  /// One that nothing was added to yet.
  static Range none();
};

struct Tick {
  double value = 0;
  std::string label;
};

enum class ScaleKind {
  linear,
  whole,        ///< linear, and only whole numbers are written beside it
  logarithmic,  ///< of a range above 0
};

/// How an axis goes from one end to the other.
class Scale {
 public:
  /// An empty range is taken for 0 to 1, one of a single value is widened around it. `margin` is
  /// the share of the axis that stays free at either end.
  Scale(Range range, ScaleKind kind, double margin = 0);

  /// 0 at the low end, 1 at the high one.
  double share(double value) const;
  /// At most `most` values (at least 2) that people find easy to read: multiples of 1, 2 or 5 times
  /// a power of ten; of a logarithmic axis powers of ten, with their double and fivefold where
  /// there is room. All labels of an axis have the same form. Where no two of them are on the
  /// axis (a logarithmic one of less than a factor of two), as if it were linear.
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
