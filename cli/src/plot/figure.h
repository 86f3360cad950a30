// The content of a plot, before it is drawn.
#pragma once

#include "curves/series.h"
#include "plot/scale.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// One line of a panel.
struct Curve {
  std::string label;              ///< printable; empty if the panel has only this one
  std::size_t look = 0;           ///< the same for curves of the same thing, in all panels
  std::vector<Point> points;      ///< smoothed on request; gaps are not finite
  std::vector<Point> unsmoothed;  ///< empty if `points` are
  double last = 0;                ///< last finite value that was logged; NaN if there is none
  Range values;                   ///< least and greatest finite value that was logged
  bool doubtful = false;          ///< then it has no `last` and no `values`
  /// The band of a mean, one deviation below and above it, with gaps where there is none.
  std::vector<Point> low = {}, high = {};
};

/// Curves that share both axes.
struct Panel {
  std::string title;  ///< printable
  std::vector<Curve> curves;
};

struct Figure {
  std::string x_label;
  ScaleKind x_kind = ScaleKind::linear;
  ScaleKind y_kind = ScaleKind::linear;
  std::vector<Panel> panels;
  std::vector<std::string> notes;  ///< values that are not shown, and why; printable
};

/// A run, or a group of runs, with the series to be drawn of it.
struct PlottedRun {
  store::Run run;
  std::vector<store::Argument> arguments;
  SeriesAnswer answer;
  std::string label = {};              ///< of a group, printable; `run` is the first of its runs
  std::vector<std::string> keys = {};  ///< of the runs of a group
};

struct FigurePlan {
  /// The metrics of each panel.
  std::vector<std::vector<std::string>> panels;
  Axis axis = Axis::epoch;
  bool logarithmic = false;
  double smoothing = 0;  ///< weight of `smoothed`
};

/// The labels name the differences between the curves: the run with those of its arguments that the
/// others do not share, the metric, the loop, and whether the values come from hindsight or
/// evaluators.
Figure make_figure(std::span<const PlottedRun> runs, const FigurePlan& plan);

/// The range over all panels in x, and in y over the curves of one; `with_unsmoothed`: including
/// the original values of smoothed curves. Both with the bands of means.
Range x_range(const Figure& figure);
Range y_range(const Panel& panel, bool with_unsmoothed);

}  // namespace flor::cli
