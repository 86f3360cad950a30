// The points of a sweep as a table, and as JSON.
#pragma once

#include "sweep/sweep_runs.h"

#include <flor/store/store.h>

#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct SweepTable {
  std::optional<Goal> goal;  ///< by which points rank; nothing: they stay in their order
};

/// Prints each point with its run. Without a goal the last values of a few metrics are shown.
void print_sweep(Context& context, const store::Store& store, const SweepPlan& plan,
                 const std::vector<PointState>& states, const SweepTable& table);

/// "32 points: 30 finished, 1 stopped early, 1 failed".
std::string count_states(const std::vector<PointState>& states);

/// Prints all sweeps of the store. A plan that cannot be read is named, and its status returned.
ExitStatus print_sweeps(Context& context, const store::Store& store);

}  // namespace flor::cli
