#include "curves/series.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace flor::cli {
namespace {

/// Averages the points of several series that have the same x.
Series mean_of(std::vector<const Series*> all) {
  std::vector<Point> points;
  for (const Series* series : all) {
    points.insert(points.end(), series->points.begin(), series->points.end());
  }
  std::ranges::stable_sort(points, {}, &Point::x);
  Series result{.metric = all.front()->metric, .path = all.front()->path, .points = {}};
  result.asked = all.front()->asked;
  result.runs = all.size();
  for (std::size_t i = 0; i < points.size();) {
    Spread spread;
    const double x = points[i].x;
    // The mean has an origin other than `recorded` only if all its values have that origin.
    const Origin origin = points[i].origin;
    bool is_same = true;
    for (; i < points.size() && points[i].x == x; ++i) {
      spread.add(points[i].y);
      is_same = is_same && points[i].origin == origin;
    }
    const double mean = spread.mean().value_or(std::numeric_limits<double>::quiet_NaN());
    result.points.push_back({x, mean, is_same ? origin : Origin::recorded});
    result.spreads.push_back(spread);
  }
  return result;
}

}  // namespace

SeriesAnswer averaged(std::span<const SeriesAnswer> runs) {
  SeriesAnswer result;
  std::vector<std::vector<const Series*>> same;
  for (const SeriesAnswer& run : runs) {
    result.no_numbers += run.no_numbers;
    result.no_place += run.no_place;
    for (const Series& series : run.series) {
      if (series.doubtful) {
        result.doubtful += static_cast<std::int64_t>(series.points.size());
        continue;
      }
      const auto known = std::ranges::find_if(same, [&](const auto& others) {
        return others.front()->metric == series.metric && others.front()->path == series.path;
      });
      (known == same.end() ? same.emplace_back() : *known).push_back(&series);
    }
  }
  for (auto& all : same) result.series.push_back(mean_of(std::move(all)));
  return result;
}

}  // namespace flor::cli
