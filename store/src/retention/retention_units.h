// The checkpoints of a run as retention looks at them: epochs and saved ones, with their scores.
#pragma once

#include "database/sqlite.h"
#include "retention/retention.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// A unit, and the checkpoint that represents it.
struct LoadedUnit {
  RetainedUnit unit;
  std::optional<std::int64_t> state = {};  ///< the boundary, or the saved checkpoint
  /// The run whose values are the scores: rank 0's, where it has the unit. The number of a saved
  /// checkpoint is its number there.
  std::int64_t scored = 0;
};

/// A run, or the runs of all ranks of its group, rank 0 first: they keep and delete the same.
struct RunsTogether {
  std::vector<std::int64_t> runs;
  bool complete = true;  ///< all ranks have begun
};

RunsTogether runs_together(Connection& connection, std::int64_t run);

/// The stored checkpoints of a run, or of its group, in the order of their time, without scores.
/// `state` is that of the run itself where it has one. While one of the runs may still be resumed,
/// those of an incomplete iteration are left out, and checkpoints needed for that are marked as
/// needed. Never among them: the state before a main loop, and checkpoints inside iterations.
std::vector<LoadedUnit> load_units(Connection& connection, std::int64_t run);
/// The same of checkpoints that the run itself has stored, whatever the other ranks of its group
/// have.
std::vector<LoadedUnit> load_own_units(Connection& connection, std::int64_t run);

/// The scores of the units by a metric. Of an epoch: the value logged for the epoch itself, else
/// the last value inside it; of several nested loops, that of the one that logged it first the
/// latest. Of a saved checkpoint: the score it was saved with, else the value logged at its place,
/// else the score of its epoch. Numbers and booleans count, everything else is missing.
std::vector<Score> load_scores(Connection& connection, std::string_view metric,
                               std::span<const LoadedUnit> units);

/// Throws NotFound or UsageError where no checkpoint can have a score of that name.
void check_metric(Connection& connection, std::int64_t run, const std::string& metric);

/// Not finished in order: it may be running, or be resumed.
bool may_go_on(Connection& connection, std::int64_t run);

}  // namespace flor::store
