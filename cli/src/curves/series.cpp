#include "curves/series.h"

#include "curves/spread.h"
#include "index/values/machine.h"
#include "index/values/value_stream.h"
#include "output/terminal_text.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace flor::cli {
namespace {

/// A value whose position on the axis is not computed yet.
struct CurvePoint {
  std::int64_t epoch = 0, step = 0;
  double y = 0;
  Origin origin = Origin::recorded;
};

/// Whether the value is a sample of the machine: it has no loop, and its time in the place of a
/// step.
bool is_sample(const store::Value& value) {
  return store::is_machine_name(value.name) && value.place.path.empty() && value.place.step >= 0;
}

/// The values of one series, in the order in which they were read.
struct Gathered {
  std::string metric, path;
  std::vector<CurvePoint> spots;
  bool doubtful = false;  ///< doubtful values are a series of their own
  bool sampled = false;   ///< samples of the machine
};

class Gatherer {
 public:
  explicit Gatherer(SeriesAnswer& answer) : answer_(answer) {}

  void add(const store::Value& value) {
    const auto y = number(value.type, value.value);
    if (!y) {
      ++answer_.no_numbers;
    } else if (value.place.epoch < 0 && !is_sample(value)) {
      ++answer_.no_place;
    } else {
      Gathered& gathered = series(value);
      gathered.spots.push_back({value.place.epoch, value.place.step, *y, origin_of_value(value)});
      gathered.doubtful = value.job == 0 && value.verdict == store::ValueVerdict::doubtful;
      gathered.sampled = is_sample(value);
    }
  }
  std::vector<Gathered>& all() { return all_; }

 private:
  Gathered& series(const store::Value& value) {
    if (all_.empty() || all_.back().path != value.place.path || all_.back().metric != value.name) {
      all_.push_back({value.name, value.place.path, {}, false});
    }
    return all_.back();
  }

  SeriesAnswer& answer_;
  std::vector<Gathered> all_;
};

Series placed(const Gathered& gathered, const Course& course, Axis axis) {
  Series series{gathered.metric, gathered.path, {}, {}, gathered.doubtful};
  series.points.reserve(gathered.spots.size());
  const auto& spots = gathered.spots;
  store::Place place{gathered.path, 0, 0, ""};
  for (std::size_t first = 0, end = 0; first < spots.size(); first = end) {
    place.epoch = spots[first].epoch;
    place.step = spots[first].step;
    while (end < spots.size() && spots[end].epoch == place.epoch && spots[end].step == place.step) {
      ++end;
    }
    for (std::size_t i = first; i < end; ++i) {
      const double x = course.position(axis, place, static_cast<std::int64_t>(i - first),
                                       static_cast<std::int64_t>(end - first));
      series.points.push_back({x, spots[i].y, spots[i].origin});
    }
  }
  return series;
}

/// By the time since the run began, or as the mean of each epoch.
Series placed_samples(const Gathered& gathered, Axis axis) {
  Series series{gathered.metric, gathered.path, {}, {}, false};
  if (axis == Axis::step) {
    throw UsageError(
        fmt::format("{} was sampled by time, not by step: use --by time, or --by "
                    "epoch for means",
                    printable(gathered.metric)));
  }
  std::map<std::int64_t, Spread> epochs;
  for (const CurvePoint& spot : gathered.spots) {
    if (axis == Axis::time) {
      series.points.push_back({static_cast<double>(spot.step), spot.y});
    } else if (spot.epoch >= 0) {
      epochs[spot.epoch].add(spot.y);
    }
  }
  for (const auto& [epoch, spread] : epochs) {
    if (const auto mean = spread.mean())
      series.points.push_back({static_cast<double>(epoch), *mean});
  }
  std::ranges::stable_sort(series.points, {}, &Point::x);  // those outside of the loops came first
  return series;
}

}  // namespace

Origin origin_of_value(const store::Value& value) {
  if (value.job != 0) return Origin::evaluated;
  return value.replay == 0 ? Origin::recorded : Origin::hindsight;
}

SeriesAnswer series_of(const store::Store& store, const store::Run& run,
                       const SeriesQuestion& question, std::int64_t now_us) {
  SeriesAnswer answer;
  // A query without names would mean all metrics.
  if (question.metrics.empty()) return answer;
  Gatherer gatherer(answer);
  store::ValueQuery query{.run = run.id, .names = question.metrics};
  query.first_epoch = question.first_epoch == 0 ? -1 : question.first_epoch;
  query.last_epoch = question.last_epoch;
  query.evaluated = true;
  store::each_value(store, query, [&](store::Value&& value) { gatherer.add(value); });
  // Reads the course after the values, so that the steps and durations of all their places are
  // known, or reported by `notice` below.
  Course course(store.catalog(), run, now_us);
  for (const Gathered& gathered : gatherer.all()) {
    const std::string_view loop = nested_loop(gathered.path);
    for (const CurvePoint& spot : gathered.spots) course.notice(loop, spot.epoch, spot.step);
  }
  for (const std::string& metric : question.metrics) {
    for (const Gathered& gathered : gatherer.all()) {
      if (gathered.metric != metric && !is_doubtful_of(gathered.metric, metric)) continue;
      answer.series.push_back(gathered.sampled ? placed_samples(gathered, question.axis)
                                               : placed(gathered, course, question.axis));
      answer.series.back().asked = metric;
    }
  }
  return answer;
}

bool has_steps(const store::Store& store, std::span<const store::Run> runs,
               std::span<const std::string> metrics) {
  for (const store::Run& run : runs) {
    for (const std::string& path : store::value_paths(store, run.id, metrics)) {
      if (!nested_loop(path).empty()) return true;
    }
  }
  return false;
}

}  // namespace flor::cli
