// What becomes of the points of a curve before it is drawn. Pure functions.
#pragma once

#include "curves/series.h"

#include <cstddef>
#include <span>
#include <vector>

namespace flor::cli {

/// Exponential moving average without the bias to its start, as in Adam (Kingma and Ba, 2014,
/// algorithm 1): m <- w m + (1 - w) y from m = 0, and m / (1 - w^k) after k values. It goes from
/// value to value, however far they are apart. NaN and infinities are passed through and do not
/// count. 0 <= weight < 1; 0 changes nothing.
std::vector<Point> smoothed(std::span<const Point> points, double weight);

/// As few points as look the same on `columns` columns between `first_x` and `last_x`: of each
/// column the first, the least, the greatest and the last finite value, in order. A column that has
/// only NaN or infinities keeps one of them, as the gap that it is. What lies outside is a column
/// on either side. Few points stay as they are.
std::vector<Point> thinned(std::span<const Point> points, double first_x, double last_x,
                           std::size_t columns);

}  // namespace flor::cli
