#include "serve/curves.h"

#include "choose/run_spec.h"
#include "curves/curve.h"
#include "index/values/machine.h"
#include "index/values/overview.h"
#include "output/time.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace flor::cli {
namespace {

/// Most points kept in memory; they take about 100 MB.
constexpr std::size_t kPointsMax = 4'000'000;
/// Reading curves again takes at most a tenth of the time, however fast new values come.
constexpr int kCurvesShare = 10;
/// A metric with an unchanged summary is read again after this time, if the catalog has changed at
/// all.
constexpr std::chrono::seconds kDoubt{10};

/// Adds the edges of the band around a mean, at the x of its points.
void put_band(const Series& series, const Json& xs, double smoothing, Json& result) {
  std::vector<Point> low, high;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const Point& mean = series.points[i];
    const double deviation =
        series.spreads[i].deviation().value_or(std::numeric_limits<double>::quiet_NaN());
    low.push_back({mean.x, mean.y - deviation, mean.origin});
    high.push_back({mean.x, mean.y + deviation, mean.origin});
  }
  for (const auto& [name, edge] : {std::pair("low", &low), std::pair("high", &high)}) {
    *edge = smoothed(*edge, smoothing);
    Json values = Json::array();
    for (const Json& x : xs) {
      const auto point = std::ranges::lower_bound(*edge, x.get<double>(), {}, &Point::x);
      values.push_back(std::isfinite(point->y) ? Json(point->y) : Json());
    }
    result[name] = std::move(values);
  }
  result["runs"] = series.runs;
}

Json series_json(const Series& series, const CurveQuestion& question) {
  std::vector<Point> averaged;
  std::span<const Point> points = series.points;
  if (question.smoothing > 0) {
    averaged = smoothed(points, question.smoothing);
    points = averaged;
  }
  const double first = points.empty() ? 0 : std::max(question.from, points.front().x);
  const double last = points.empty() ? 0 : std::min(question.to, points.back().x);
  Json x = Json::array(), y = Json::array();
  bool hindsight = false;
  for (const Point& point : thinned(points, first, last, question.columns)) {
    x.push_back(point.x);
    y.push_back(std::isfinite(point.y) ? Json(point.y) : Json());
    hindsight = hindsight || point.origin != Origin::recorded;
  }
  Json band = Json::object();
  if (!series.spreads.empty()) put_band(series, x, question.smoothing, band);
  Json result{{"loop", series.path},    {"count", series.points.size()},
              {"hindsight", hindsight}, {"doubtful", series.doubtful},
              {"x", std::move(x)},      {"y", std::move(y)}};
  result.update(band);
  return result;
}

}  // namespace

Curves::Curves(const std::filesystem::path& home)
    : store_(store::Store::open(home, store::OpenMode::read_only)) {}

/// A text that changes with the metric's summary. Computed without reading the metric's values.
std::string Curves::signature(std::int64_t run, const std::string& metric) const {
  for (const store::MetricSummary& summary : store_->catalog().metrics(run)) {
    if (summary.name != metric) continue;
    return fmt::format("{} {} {} {} {}", summary.count, exact(summary.type, summary.last),
                       summary.minimum, summary.maximum, store_->catalog().replays(run).size());
  }
  return {};
}

void Curves::make_room() {
  const auto total = [&] {
    std::size_t points = 0;
    for (const Kept& kept : kept_) points += kept.points;
    return points;
  };
  while (kept_.size() > 1 && total() > kPointsMax) {
    kept_.erase(std::ranges::min_element(kept_, {}, &Kept::used));
  }
}

std::shared_ptr<const SeriesAnswer> Curves::read(const store::Run& run,
                                                 const CurveQuestion& question) {
  const auto now = Clock::now();
  const std::int64_t mark = store::change_mark(*store_);
  auto found = std::ranges::find_if(kept_, [&](const Kept& kept) {
    return kept.run == run.id && kept.metric == question.metric && kept.axis == question.axis;
  });
  if (found != kept_.end()) {
    found->used = now;
    if (found->mark == mark || now < found->fresh_until) return found->answer;
  }
  std::string known = store::is_machine_name(question.metric) ? std::to_string(mark)
                                                              : signature(run.id, question.metric);
  if (known.empty()) {
    throw NotFound(fmt::format("run {} has no metric '{}'", title(run), question.metric));
  }
  if (found == kept_.end()) {
    kept_.push_back({run.id, question.metric, question.axis, 0, {}, now, now, {}, 0});
    found = kept_.end() - 1;
  } else if (found->signature == known && now < found->fresh_until + kDoubt) {
    return found->answer;
  }
  auto answer = std::make_shared<SeriesAnswer>(
      series_of(*store_, run, {.metrics = {question.metric}, .axis = question.axis}, now_us()));
  // On the page, a metric's doubtful values have a chart of their own.
  std::erase_if(answer->series,
                [&](const Series& series) { return series.metric != question.metric; });
  found->points = 0;
  for (const Series& series : answer->series) found->points += series.points.size();
  found->answer = answer;
  found->mark = mark;
  found->signature = std::move(known);
  found->used = Clock::now();
  found->fresh_until = found->used + kCurvesShare * (found->used - now);
  make_room();
  return answer;
}

/// The mean over those of the runs that have the metric.
std::shared_ptr<const SeriesAnswer> Curves::read_mean(const CurveQuestion& question) {
  if (question.axis == Axis::time) {
    throw UsageError("means are over equal epochs or steps, not times");
  }
  std::vector<SeriesAnswer> answers;
  for (const std::string& run : question.runs) {
    try {
      answers.push_back(*read(parse_whole_run(store_->catalog(), run), question));
    } catch (const NotFound&) {  // other runs may have it
      if (answers.empty() && run == question.runs.back()) throw;
    }
  }
  return std::make_shared<SeriesAnswer>(averaged(answers));
}

Json Curves::answer(const CurveQuestion& question) {
  constexpr std::size_t kColumnsMax = 10'000;
  if (!(question.smoothing >= 0 && question.smoothing < 1)) {
    throw UsageError("the weight of smoothing is at least 0 and less than 1");
  }
  CurveQuestion asked = question;
  asked.columns = std::clamp<std::size_t>(question.columns, 1, kColumnsMax);
  std::shared_ptr<const SeriesAnswer> answer;
  std::string key;
  {
    const std::lock_guard lock(mutex_);
    if (question.runs.empty()) {
      const store::Run run = parse_whole_run(store_->catalog(), question.run);
      key = run.key;
      answer = read(run, question);
    } else {
      answer = read_mean(question);
    }
  }
  Json series = Json::array();
  for (const Series& each : answer->series) series.push_back(series_json(each, asked));
  return {{"run", json_text(key)},
          {"metric", question.metric},
          {"axis", std::string(to_string(question.axis))},
          {"no_place", answer->no_place},
          {"series", std::move(series)}};
}

}  // namespace flor::cli
