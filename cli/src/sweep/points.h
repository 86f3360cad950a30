// The points of a sweep: combinations of values of its arguments. Pure functions: the same words
// and the same seed give the same points on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::cli {

/// The arguments of one recording, as texts, in the order in which the user wrote them; no name
/// occurs twice.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

/// The point as text, "lr=0.01 hidden=256", safe to print.
std::string point_text(const SweepPoint& point);

/// An interval of numbers, both ends included.
struct NumberRange {
  double least = 0, most = 0;
  bool whole = false;        ///< whether both ends are whole numbers
  bool logarithmic = false;  ///< whether to draw uniformly on a logarithmic scale
};

/// One word of --kwargs, or a file of points: either alternatives, or a range.
struct SweepAxis {
  std::vector<SweepPoint> alternatives = {};
  std::string name = {};  ///< name of the argument, for a range
  std::optional<NumberRange> range = {};
};

/// Parses a word such as "lr=1e-3,1e-2", "title=\"a,b\",c", "seed=1..5" or "lr=1e-5..1e-2:log". A
/// range of whole numbers in a list stands for each of its numbers. Throws UsageError.
SweepAxis parse_sweep_axis(std::string_view word);

/// Parses a CSV file with a header, or JSON lines: each row is an alternative. `name`: of the file,
/// for messages. Throws UsageError that names the wrong line.
SweepAxis parse_rows(std::string_view text, std::string_view name);

/// The largest number of points that a sweep may have.
inline constexpr std::size_t kMostPoints = 100'000;

/// Returns all combinations; the values of the last axis change fastest. Throws UsageError for a
/// range that is not whole, for an argument that occurs in two axes, and for two equal points.
std::vector<SweepPoint> all_points(const std::vector<SweepAxis>& axes);

/// Draws `count` different points at random. A larger `count` gives the same points first. Throws
/// UsageError if there are not that many.
std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, std::size_t count,
                                    std::uint64_t seed);

}  // namespace flor::cli
