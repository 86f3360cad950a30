// The content of a plot, independent of how it is drawn.
#pragma once

#include "curves/series.h"
#include "plot/scale.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

/// A curve of a panel.
struct Curve {
  std::string label;              ///< printable; empty if this is the only curve of its panel
  std::size_t look = 0;           ///< index of a colour and a dash, equal in all panels for curves
                                  ///< of the same thing
  std::vector<Point> points;      ///< smoothed if the user wants it; a point that is not finite is
                                  ///< a gap
  std::vector<Point> unsmoothed;  ///< the original points if `points` are smoothed, else empty
  double last = 0;                ///< last finite logged value; NaN if there is none
  Range values;                   ///< range of the finite logged values
  bool doubtful = false;          ///< whether the values are doubtful; then `last` and `values` are
                                  ///< not set
  /// The band around a mean, one standard deviation below and above it; not finite where there is
  /// none.
  std::vector<Point> low = {}, high = {};
};

/// A part of the figure whose curves share both axes.
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

/// A run, or a group of runs, with the series to draw.
struct PlottedRun {
  store::Run run;
  std::vector<store::Argument> arguments;
  SeriesAnswer answer;
  std::string label = {};              ///< the label of a group, printable; `run` is then the first
                                       ///< run of the group
  std::vector<std::string> keys = {};  ///< the keys of the runs of a group
};

struct FigurePlan {
  /// The names of the metrics that each panel shows.
  std::vector<std::vector<std::string>> panels;
  Axis axis = Axis::epoch;
  std::string over = {};  ///< the metric whose values are the axis; empty: `axis` is
  bool logarithmic = false;
  double smoothing = 0;  ///< the weight that `smoothed` takes (curves/curve.h)
};

/// Builds the figure. Labels name what distinguishes the curves: the run with those of its
/// arguments that differ, the metric, the loop, and whether the values come from hindsight or from
/// evaluators.
Figure make_figure(std::span<const PlottedRun> runs, const FigurePlan& plan);

/// The ranges of the axes: in x over all panels, in y over the curves of one panel. Both include
/// the bands of means; `with_unsmoothed` includes the original values of smoothed curves.
Range x_range(const Figure& figure);
Range y_range(const Panel& panel, bool with_unsmoothed);

}  // namespace flor::cli
