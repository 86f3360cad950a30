// Prints the points of a sweep as a table or as JSON.
#pragma once

#include "sweep/sweep_runs.h"

#include <flor/store/store.h>

#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct SweepTable {
  std::optional<Goal> goal;  ///< by which points are ranked; nullopt: they keep their order
};

/// Prints each point with its run. Without a goal, shows the last values of a few metrics.
void print_sweep(Context& context, const store::Store& store, const SweepPlan& plan,
                 const std::vector<PointState>& states, const SweepTable& table);

/// Counts the states: "32 points: 30 finished, 1 stopped early, 1 failed".
std::string count_states(const std::vector<PointState>& states);

/// Prints all sweeps of the store. If a plan cannot be read, names it and returns that error's
/// status.
ExitStatus print_sweeps(Context& context, const store::Store& store);

}  // namespace flor::cli
