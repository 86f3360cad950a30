// Finds the runs of a sweep's points in the catalog.
#pragma once

#include "sweep/poor_runs.h"
#include "sweep/sweep_plan.h"

#include <flor/store/store.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

/// The tag of a run that was ended early because it was poor.
inline constexpr const char* kStoppedTag = "stopped-early";

struct PointState {
  /// The run that represents the point: one that has finished, else the latest; nullopt: none was
  /// begun.
  std::optional<store::Run> run = {};
  bool stopped = false;  ///< whether it was ended early and must not be continued

  bool is_done() const { return run && (stopped || run->state == store::RunState::finished); }
  /// "finished", "stopped early", ...; "open" if there is no run.
  std::string text() const;
};

/// The states of all points, in order. A run belongs to a point if it was recorded on this machine
/// for the sweep of this name, in the plan's experiment, with the point's arguments.
std::vector<PointState> point_states(const store::Store& store, const SweepPlan& plan);

/// The last number that the run logged for the metric in each complete epoch.
MetricCourse course_of(const store::Store& store, const store::Run& run, std::string_view metric);

}  // namespace flor::cli
