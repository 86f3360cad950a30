// Smooths and thins the points of a curve before it is drawn. Pure functions.
#pragma once

#include "curves/series.h"

#include <cstddef>
#include <span>
#include <vector>

namespace flor::cli {

/// Exponential moving average without the bias to its start, as in Adam (Kingma and Ba, 2014,
/// algorithm 1): m <- w m + (1 - w) y from m = 0, and m / (1 - w^k) after k values. It moves from
/// value to value, however far they are apart. NaN and infinities are passed through and do not
/// count. 0 <= weight < 1; 0 changes nothing.
std::vector<Point> smoothed(std::span<const Point> points, double weight);

/// The fewest points that look the same on `columns` columns between `first_x` and `last_x`: the
/// first, the least, the greatest and the last finite value of each column, in order. A column with
/// only NaN or infinities keeps one of them, as a gap. Points outside form one column on either
/// side. Few points stay unchanged.
std::vector<Point> thinned(std::span<const Point> points, double first_x, double last_x,
                           std::size_t columns);

}  // namespace flor::cli
