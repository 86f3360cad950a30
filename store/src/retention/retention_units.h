// Loads the units of retention of a run: epochs and saved checkpoints, with their scores.
#pragma once

#include "database/sqlite.h"
#include "retention/retention.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// A unit, and the checkpoint that holds its state.
struct LoadedUnit {
  RetainedUnit unit;
  std::optional<std::int64_t> state = {};  ///< id of the boundary, or of the saved checkpoint
  /// The run whose values score the unit: that of rank 0 if it has the unit. The unit's number is
  /// then rank 0's.
  std::int64_t scored = 0;
};

/// A run, or the runs of all ranks of its group, rank 0 first; all keep and delete the same units.
struct RunsTogether {
  std::vector<std::int64_t> runs;
  bool complete = true;  ///< true if all ranks have begun their runs
};

RunsTogether runs_together(Connection& connection, std::int64_t run);

/// Returns the stored checkpoints of a run, or of its group, in order of time, without scores.
/// `state` is the run's own checkpoint if it has one. While one of the runs may still be resumed,
/// units of an incomplete iteration are left out, and units that resuming needs are marked as
/// needed. The state before a main loop and checkpoints inside iterations are never included.
std::vector<LoadedUnit> load_units(Connection& connection, std::int64_t run);
/// Returns only units that the run itself has stored, whatever other ranks of its group have.
std::vector<LoadedUnit> load_own_units(Connection& connection, std::int64_t run);

/// Returns the scores of the units by a metric. For an epoch: the value logged for the epoch
/// itself, otherwise the last value inside it; if several nested loops logged the metric, the loop
/// counts whose first value came last. For a saved checkpoint: the score given when saving,
/// otherwise the value logged at its place, otherwise the score of its epoch. Only numbers and
/// booleans count.
std::vector<Score> load_scores(Connection& connection, std::string_view metric,
                               std::span<const LoadedUnit> units);

/// Throws NotFound or UsageError if no checkpoint can have a score with this name.
void check_metric(Connection& connection, std::int64_t run, const std::string& metric);

/// True if the run has not finished, so that it may be running or be resumed.
bool may_go_on(Connection& connection, std::int64_t run);

}  // namespace flor::store
