// The runs of the points of a sweep, as the records have them.
#pragma once

#include "sweep/poor_runs.h"
#include "sweep/sweep_plan.h"

#include <flor/store/store.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The tag of a run that was ended since it was poor.
inline constexpr const char* kStoppedTag = "stopped-early";

struct PointState {
  /// The run that counts: one that came to its end, else the latest. Nothing: none was begun.
  std::optional<store::Run> run = {};
  bool stopped = false;  ///< it was ended early, and is not to go on

  bool is_done() const { return run && (stopped || run->state == store::RunState::finished); }
  /// "finished", "stopped early", "open" without a run, ...
  std::string text() const;
};

/// The states of all points, in their order. A run belongs to a point if it was recorded here, for
/// the sweep of this name, in the experiment of the plan, with the arguments of the point.
std::vector<PointState> point_states(const store::Store& store, const SweepPlan& plan);

/// The last number of the metric in each complete epoch of the run.
MetricCourse course_of(const store::Store& store, const store::Run& run, std::string_view metric);

}  // namespace flor::cli
