// The points of a sweep: which values its arguments take together. Pure functions; the same words
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

/// The arguments of one recording, as texts, in the order in which they were written; each name
/// once.
using SweepPoint = std::vector<std::pair<std::string, std::string>>;

/// "lr=0.01 hidden=256", safe to print.
std::string point_text(const SweepPoint& point);

/// Numbers from `least` to `most`, both included.
struct NumberRange {
  double least = 0, most = 0;
  bool whole = false;        ///< both ends are written as whole numbers
  bool logarithmic = false;  ///< drawn so that each power of ten is as likely
};

/// One word of --kwargs, or a file of points: the alternatives that it gives, or a range.
struct SweepAxis {
  std::vector<SweepPoint> alternatives = {};
  std::string name = {};  ///< of the range
  std::optional<NumberRange> range = {};
};

/// "lr=1e-3,1e-2", "title=\"a,b\",c", "seed=1..5", "lr=1e-5..1e-2:log". Whole ranges in a list
/// stand for their numbers. Throws UsageError.
SweepAxis parse_sweep_axis(std::string_view word);

/// The rows of a CSV file with a header, or the objects of JSON lines. `name`: of the file, for
/// messages. Throws UsageError with the line that is wrong.
SweepAxis parse_rows(std::string_view text, std::string_view name);

/// Most points of a sweep.
inline constexpr std::size_t kMostPoints = 100'000;

/// Every combination; the values of the last axis change first. Throws UsageError for a range that
/// cannot be counted, for an argument that two axes have, and for two points that are the same.
std::vector<SweepPoint> all_points(const std::vector<SweepAxis>& axes);

/// `count` points, each different, drawn at random. More of them begin with the same ones. Throws
/// UsageError where there are not so many.
std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, std::size_t count,
                                    std::uint64_t seed);

}  // namespace flor::cli
