// Smooths and thins the points of a curve before it is drawn. Pure functions.
#pragma once

#include "curves/series.h"

#include <cstddef>
#include <span>
#include <vector>

namespace flor::cli {

/// Exponential moving average with bias correction, as in Adam (Kingma and Ba, 2014, algorithm 1):
/// m <- w m + (1 - w) y from m = 0; the result is m / (1 - w^k) after k values. It advances per
/// value, regardless of the distance in x. NaN and infinities are copied and do not count. 0 <=
/// weight < 1; 0 changes nothing.
std::vector<Point> smoothed(std::span<const Point> points, double weight);

/// The fewest points that look the same when drawn on `columns` columns between `first_x` and
/// `last_x`: the first, least, greatest and last finite value of each column, in order. A column
/// with only NaN or infinities keeps one of them, as a gap. The points beyond either side count as
/// one column. If there are few points, all are returned.
std::vector<Point> thinned(std::span<const Point> points, double first_x, double last_x,
                           std::size_t columns);

}  // namespace flor::cli
