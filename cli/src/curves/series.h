// Metrics as curves: the numbers that a run logged under a name, over epochs, steps or time.
#pragma once

#include "curves/course.h"
#include "curves/spread.h"

#include <flor/store/store.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// How a value was found.
enum class Origin : std::uint8_t { recorded, hindsight, evaluated };

struct Point {
  double x = 0, y = 0;  ///< y may be NaN or infinite
  Origin origin = Origin::recorded;
};

/// The numbers of one metric in one loop of one run. A name that was logged in several loops, such
/// as a loss in "train" and in "validate", gives several series.
struct Series {
  std::string metric;
  std::string path;           ///< "epoch/train"
  std::vector<Point> points;  ///< in the order in which they were logged; x never falls
  std::string asked = {};     ///< the metric asked for; `metric` may be its doubtful values
  bool doubtful = false;      ///< whether all its values are
  /// Numbers that each of `points` is the mean of; empty for the values of one run.
  std::vector<Spread> spreads = {};
  std::size_t runs = 1;
};

struct SeriesQuestion {
  std::vector<std::string> metrics;  ///< the order of the answer
  Axis axis = Axis::epoch;
  std::int64_t first_epoch = 0, last_epoch = INT64_MAX;
};

/// The answer of one run.
struct SeriesAnswer {
  std::vector<Series> series;
  std::int64_t no_numbers = 0;  ///< values left out because they are texts, tables, ...
  std::int64_t no_place = 0;    ///< numbers left out because they were logged outside every loop
  std::int64_t doubtful = 0;    ///< doubtful ones left out of means
};

/// Recorded values, those that replays found, and those of evaluators, as `flor query` shows them.
/// Takes 24 bytes a point, and half a second for a million of them. Names that the run does not
/// have give no series.
SeriesAnswer series_of(const store::Store& store, const store::Run& run,
                       const SeriesQuestion& question, std::int64_t now_us);

/// The series of several runs as one for each metric and loop: a point is the mean of the numbers
/// at one x, NaN where none of them is finite. Doubtful values are left out.
SeriesAnswer averaged(std::span<const SeriesAnswer> runs);

/// Whether one of the metrics was logged in a nested loop of one of the runs: then steps are the
/// best axis.
bool has_steps(const store::Store& store, std::span<const store::Run> runs,
               std::span<const std::string> metrics);

/// The names that the runs have, in the order in which they were first logged.
std::vector<std::string> metric_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs);
/// Those of them whose last value is a number, without doubtful values.
std::vector<std::string> number_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs);
/// Whether this is a measure of the machine, as "machine/cpu", of which one of the runs has samples.
bool has_samples(const store::Catalog& catalog, std::span<const store::Run> runs,
                 const std::string& metric);
/// Throws NotFound, with the existing names, if one of `metrics` is in none of the runs, and
/// UsageError if `metrics` is empty; `how` is an example of the command ("flor query METRIC...").
void require_metrics(const store::Catalog& catalog, std::span<const store::Run> runs,
                     std::span<const std::string> metrics, std::string_view how);

}  // namespace flor::cli
