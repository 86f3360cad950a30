#include "curves/curve.h"

#include <algorithm>
#include <cmath>

namespace flor::cli {
namespace {

/// Chooses which points of one column to keep, by their indices.
class Column {
 public:
  void add(std::size_t index, double y) {
    if (!std::isfinite(y)) {
      if (!any_) gap_ = index;
      has_gap_ = true;
      return;
    }
    if (!any_) first_ = least_ = greatest_ = index, least_y_ = greatest_y_ = y;
    any_ = true;
    last_ = index;
    if (y < least_y_) least_ = index, least_y_ = y;
    if (y > greatest_y_) greatest_ = index, greatest_y_ = y;
  }

  void flush(std::span<const Point> points, std::vector<Point>& result) {
    if (any_) {
      std::size_t chosen[] = {first_, least_, greatest_, last_};
      std::ranges::sort(chosen);
      std::size_t before = SIZE_MAX;
      for (const std::size_t index : chosen) {
        if (index != before) result.push_back(points[index]);
        before = index;
      }
    } else if (has_gap_) {
      result.push_back(points[gap_]);
    }
    *this = Column();
  }

 private:
  bool any_ = false, has_gap_ = false;
  std::size_t first_ = 0, last_ = 0, least_ = 0, greatest_ = 0, gap_ = 0;
  double least_y_ = 0, greatest_y_ = 0;
};

}  // namespace

std::vector<Point> smoothed(std::span<const Point> points, double weight) {
  std::vector<Point> result(points.begin(), points.end());
  if (weight <= 0) return result;
  double mean = 0, left = 1;  // left: weight^k after k values
  for (Point& point : result) {
    if (!std::isfinite(point.y)) continue;
    mean = weight * mean + (1 - weight) * point.y;
    left *= weight;
    point.y = mean / (1 - left);
  }
  return result;
}

std::vector<Point> thinned(std::span<const Point> points, double first_x, double last_x,
                           std::size_t columns) {
  // At most four points are kept for each column.
  if (points.size() <= 4 * columns || !(last_x > first_x)) return {points.begin(), points.end()};
  const auto column_of = [&](double x) {
    const double share = (x - first_x) / (last_x - first_x);
    if (share < 0) return std::int64_t{-1};
    if (share > 1) return static_cast<std::int64_t>(columns);
    return std::min(static_cast<std::int64_t>(share * static_cast<double>(columns)),
                    static_cast<std::int64_t>(columns) - 1);
  };
  std::vector<Point> result;
  Column column;
  std::int64_t at = INT64_MIN;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::int64_t next = column_of(points[i].x);
    if (next != at) column.flush(points, result);
    at = next;
    column.add(i, points[i].y);
  }
  column.flush(points, result);
  return result;
}

}  // namespace flor::cli
