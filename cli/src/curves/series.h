// Metrics as curves: the numbers logged under a name, over epochs, steps or time.
#pragma once

#include "choose/asked.h"
#include "curves/course.h"
#include "curves/spread.h"

#include <flor/store/store.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// Where a value comes from: the recording, a replay (hindsight), or an evaluator.
enum class Origin : std::uint8_t { recorded, hindsight, evaluated };
Origin origin_of_value(const store::Value& value);

struct Point {
  double x = 0, y = 0;  ///< y may be NaN or infinite
  Origin origin = Origin::recorded;
};

/// The numbers of one metric in one loop of one run. A name that is logged in several loops, such
/// as a loss in "train" and in "validate", gives several series.
struct Series {
  std::string metric;
  std::string path;           ///< path of the loop, such as "epoch/train"
  std::vector<Point> points;  ///< in the order of logging; x never decreases
  std::string asked = {};     ///< the metric asked for; `metric` is another name if these are its
                              ///< doubtful values
  bool doubtful = false;      ///< whether these are doubtful values: found by a replay that
                              ///< differed from its record
  /// For each of `points`, the numbers that it is the mean of; empty for the values of one run.
  std::vector<Spread> spreads = {};
  std::size_t runs = 1;
};

struct SeriesQuestion {
  std::vector<std::string> metrics;  ///< the order of the answer's series
  Axis axis = Axis::epoch;
  std::int64_t first_epoch = 0, last_epoch = INT64_MAX;
  /// A metric, or a loop as `document_value`, whose values are the axis (`series_over`); empty:
  /// `axis` is.
  std::string over = {};
};

/// The series of one run.
struct SeriesAnswer {
  std::vector<Series> series;
  std::int64_t no_numbers = 0;  ///< values left out because they are texts, tables, ...
  std::int64_t no_place = 0;    ///< numbers left out because they were logged outside of all loops
  std::int64_t doubtful = 0;    ///< doubtful values left out of means
  std::int64_t no_x = 0;        ///< numbers left out because `over` has no number at their place
};

/// The recorded values, those found by replays, and those of evaluators, as `flor query` shows
/// them. Takes 24 bytes a point, and half a second for a million points. A name that the run does
/// not have gives no series.
SeriesAnswer series_of(const store::Store& store, const store::Run& run,
                       const SeriesQuestion& question, std::int64_t now_us);

/// The same with the values of `question.over` as x: each number is joined with the value that was
/// logged at its place, or once in a place around it, as `flor query` joins them. Points are in the
/// order of x. Takes the memory of all values.
SeriesAnswer series_over(const store::Store& store, const store::Run& run,
                         const SeriesQuestion& question);

/// Averages several runs: one series for each metric and loop, whose points are the means of the
/// numbers at one x, or NaN if none of them is finite. Doubtful values are left out.
SeriesAnswer averaged(std::span<const SeriesAnswer> runs);

/// Whether one of the metrics was logged in a nested loop of one of the runs; then steps are the
/// most useful axis.
bool has_steps(const store::Store& store, std::span<const store::Run> runs,
               std::span<const std::string> metrics);

}  // namespace flor::cli
