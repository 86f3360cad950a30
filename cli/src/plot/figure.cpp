#include "plot/figure.h"

#include "choose/run_spec.h"
#include "choose/telling_arguments.h"
#include "curves/curve.h"
#include "output/terminal_text.h"
#include "view/loop_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace flor::cli {
namespace {

constexpr std::size_t kArgumentsInLabel = 3;

/// The arguments in which the runs differ.
std::vector<std::string> telling_arguments(std::span<const PlottedRun> runs) {
  TellingArguments seen;
  for (const PlottedRun& plotted : runs) {
    seen.add(plotted.run.start.experiment, plotted.arguments);
  }
  std::vector<std::string> names;
  for (const auto& argument : seen.telling()) {
    if (names.size() < kArgumentsInLabel) names.push_back(argument.name);
  }
  return names;
}

std::string run_label(const PlottedRun& plotted, std::span<const std::string> arguments,
                      bool with_experiment) {
  std::string label = short_key(plotted.run);
  if (with_experiment) label += " " + plotted.run.start.experiment;
  for (const std::string& name : arguments) {
    for (const store::Argument& argument : plotted.arguments) {
      if (argument.name == name) label += fmt::format(" {}={}", name, argument.value);
    }
  }
  return label;
}

/// The unit for an axis of time: the largest of which there are at least two.
struct TimeUnit {
  double seconds;
  const char* name;
};
TimeUnit time_unit(double longest) {
  constexpr std::array kUnits = {TimeUnit{86400, "days"}, TimeUnit{3600, "hours"},
                                 TimeUnit{60, "minutes"}};
  for (const TimeUnit& unit : kUnits) {
    if (longest >= 2 * unit.seconds) return unit;
  }
  return {1, "seconds"};
}

class FigureMaker {
 public:
  FigureMaker(std::span<const PlottedRun> runs, const FigurePlan& plan) : runs_(runs), plan_(plan) {
    const std::vector<std::string> arguments = telling_arguments(runs);
    const bool experiments = std::ranges::any_of(runs, [&](const PlottedRun& plotted) {
      return plotted.run.start.experiment != runs[0].run.start.experiment;
    });
    for (const PlottedRun& plotted : runs) {
      run_labels_.push_back(plotted.label.empty() ? run_label(plotted, arguments, experiments)
                                                  : plotted.label);
    }
  }

  Figure make() {
    name_axes();
    for (const std::vector<std::string>& metrics : plan_.panels) add_panel(metrics);
    note_left_out();
    return std::move(figure_);
  }

 private:
  void name_axes() {
    figure_.y_kind = plan_.logarithmic ? ScaleKind::logarithmic : ScaleKind::linear;
    figure_.x_label = std::string(to_string(plan_.axis));
    figure_.x_kind = ScaleKind::whole;
    if (!plan_.over.empty()) {
      figure_.x_label = printable(plan_.over);
      figure_.x_kind = ScaleKind::linear;
      return;
    }
    if (plan_.axis != Axis::time) return;
    double longest = 0;
    for (const PlottedRun& plotted : runs_) {
      for (const Series& series : plotted.answer.series) {
        if (!series.points.empty()) longest = std::max(longest, series.points.back().x);
      }
    }
    const TimeUnit unit = time_unit(longest);
    figure_.x_label = fmt::format("{} of training", unit.name);
    figure_.x_kind = ScaleKind::linear;
    x_unit_ = unit.seconds;
  }

  void add_panel(const std::vector<std::string>& metrics) {
    Panel panel;
    panel.title = printable(fmt::format("{}", fmt::join(metrics, ", ")));
    if (plan_.smoothing > 0) panel.title += fmt::format(" (smoothed, {})", plan_.smoothing);
    const auto is_group = [](const PlottedRun& plotted) { return !plotted.label.empty(); };
    if (std::ranges::any_of(runs_, is_group)) panel.title += ", mean and deviation";
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (const std::string& metric : metrics) {
        for (const Series& series : runs_[i].answer.series) {
          if (series.asked != metric) continue;
          panel.curves.push_back(curve(i, series, metrics.size() > 1 || series.metric != metric));
        }
      }
    }
    // If there is only one curve of one run, the panel's title takes over the label.
    const bool alone = runs_.size() == 1 && runs_[0].label.empty() && metrics.size() == 1 &&
                       panel.curves.size() == 1;
    if (alone && !panel.curves[0].label.empty()) {
      panel.title += ' ';
      panel.title += std::exchange(panel.curves[0].label, {});
    }
    figure_.panels.push_back(std::move(panel));
  }

  Curve curve(std::size_t run, const Series& series, bool with_metric) {
    std::vector<std::string> parts;
    if (runs_.size() > 1 || !runs_[run].label.empty()) parts.push_back(run_labels_[run]);
    if (with_metric) parts.push_back(series.metric);
    if (several_paths(series.metric)) parts.push_back(fmt::format("in {}", loop_text(series.path)));
    const std::string key = fmt::format("{}", fmt::join(parts, " "));
    if (const auto only = only_origin(series); !only.empty()) parts.push_back(only);
    Curve result;
    result.label = printable(fmt::format("{}", fmt::join(parts, " ")));
    result.look = looks_.try_emplace(key, looks_.size()).first->second;
    result.points = shown_points(run, series, result);
    result.doubtful = series.doubtful;
    if (series.doubtful) {
      result.last = std::numeric_limits<double>::quiet_NaN();
      result.values = Range::none();
    }
    add_band(series, result);
    if (plan_.smoothing > 0) {
      result.low = smoothed(result.low, plan_.smoothing);
      result.high = smoothed(result.high, plan_.smoothing);
      result.unsmoothed = std::move(result.points);
      result.points = smoothed(result.unsmoothed, plan_.smoothing);
    }
    return result;
  }

  void add_band(const Series& series, Curve& curve) const {
    constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < series.spreads.size(); ++i) {
      const Point& mean = curve.points[i];
      const double deviation = series.spreads[i].deviation().value_or(kNoNumber);
      double low = mean.y - deviation;
      // A logarithmic axis has no place for the value: the band reaches down to its edge.
      if (plan_.logarithmic && low <= 0) low = -std::numeric_limits<double>::infinity();
      curve.low.push_back({mean.x, low, mean.origin});
      curve.high.push_back({mean.x, mean.y + deviation, mean.origin});
    }
  }

  /// The points of a series, with x in the unit of the axis. Values that cannot be drawn become
  /// gaps, and a note tells their number.
  std::vector<Point> shown_points(std::size_t run, const Series& series, Curve& curve) {
    curve.last = std::numeric_limits<double>::quiet_NaN();
    curve.values = Range::none();
    std::vector<Point> points = series.points;
    std::int64_t nan = 0, infinite = 0, not_positive = 0;
    for (Point& point : points) {
      point.x /= x_unit_;
      if (std::isnan(point.y)) {
        ++nan;
      } else if (std::isinf(point.y)) {
        ++infinite;
      } else {
        curve.last = point.y;
        curve.values.add(point.y);
        if (!plan_.logarithmic || point.y > 0) continue;
        ++not_positive;
        point.y = std::numeric_limits<double>::quiet_NaN();
      }
    }
    if (!series.spreads.empty()) {
      note_means(run, series);
      nan = infinite = 0;
    }
    note(run, series, nan, "NaN");
    note(run, series, infinite, "infinite");
    note(run, series, not_positive, "not positive, which a logarithmic axis cannot show");
    return points;
  }

  /// Notes how many numbers the means leave out.
  void note_means(std::size_t run, const Series& series) {
    std::int64_t not_finite = 0, fewer = 0;
    for (const Spread& spread : series.spreads) {
      not_finite += spread.not_finite();
      if (spread.count() + spread.not_finite() < static_cast<std::int64_t>(series.runs)) ++fewer;
    }
    const std::string whose = fmt::format("{} of {}", series.metric, run_labels_[run]);
    if (not_finite > 0) {
      figure_.notes.push_back(printable(
          fmt::format("{}: {} not finite, and in no mean", whose, counted(not_finite, "value"))));
    }
    if (fewer > 0) {
      figure_.notes.push_back(printable(fmt::format("{}: {} of {} means are of fewer runs", whose,
                                                    fewer, series.spreads.size())));
    }
  }

  void note(std::size_t run, const Series& series, std::int64_t count, const char* what) {
    if (count == 0) return;
    figure_.notes.push_back(printable(fmt::format(
        "{} of {}: {} of {} values {} {}", series.metric,
        runs_[run].label.empty() ? "run " + short_key(runs_[run].run) : runs_[run].label, count,
        series.points.size(), count == 1 ? "is" : "are", what)));
  }

  void note_left_out() {
    std::int64_t numbers = 0, places = 0, doubtful = 0, no_x = 0;
    for (const PlottedRun& plotted : runs_) {
      numbers += plotted.answer.no_numbers;
      places += plotted.answer.no_place;
      doubtful += plotted.answer.doubtful;
      no_x += plotted.answer.no_x;
    }
    if (no_x) {
      figure_.notes.push_back(printable(fmt::format("left out: {} at places without a number of {}",
                                                    counted(no_x, "value"), plan_.over)));
    }
    if (doubtful) {
      figure_.notes.push_back(fmt::format("left out: {}", counted(doubtful, "doubtful value")));
    }
    if (numbers)
      figure_.notes.push_back(fmt::format("left out: {} values are no numbers", numbers));
    if (places) {
      figure_.notes.push_back(
          fmt::format("left out: {} values were logged outside of every loop", places));
    }
  }

  bool several_paths(const std::string& metric) const {
    const std::string* path = nullptr;
    for (const PlottedRun& plotted : runs_) {
      for (const Series& series : plotted.answer.series) {
        if (series.metric != metric) continue;
        if (path && *path != series.path) return true;
        path = &series.path;
      }
    }
    return false;
  }

  static std::string only_origin(const Series& series) {
    const auto all = [&](Origin origin) {
      return std::ranges::all_of(series.points,
                                 [&](const Point& point) { return point.origin == origin; });
    };
    if (series.points.empty() || series.doubtful) return {};
    if (all(Origin::hindsight)) return "(hindsight)";
    if (all(Origin::evaluated)) return "(evaluated)";
    return {};
  }

  std::span<const PlottedRun> runs_;
  const FigurePlan& plan_;
  std::vector<std::string> run_labels_;
  std::map<std::string, std::size_t> looks_;
  double x_unit_ = 1;
  Figure figure_;
};

}  // namespace

Figure make_figure(std::span<const PlottedRun> runs, const FigurePlan& plan) {
  return FigureMaker(runs, plan).make();
}

Range x_range(const Figure& figure) {
  Range range = Range::none();
  for (const Panel& panel : figure.panels) {
    for (const Curve& curve : panel.curves) {
      if (curve.points.empty()) continue;
      range.add(curve.points.front().x);
      range.add(curve.points.back().x);
    }
  }
  return range;
}

Range y_range(const Panel& panel, bool with_unsmoothed) {
  Range range = Range::none();
  for (const Curve& curve : panel.curves) {
    for (const auto* points : {&curve.points, &curve.low, &curve.high}) {
      for (const Point& point : *points) range.add(point.y);
    }
    if (!with_unsmoothed) continue;
    for (const Point& point : curve.unsmoothed) range.add(point.y);
  }
  return range;
}

}  // namespace flor::cli
