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

/// A unit, and which of its checkpoints stands for it.
struct LoadedUnit {
  RetainedUnit unit;
  std::optional<std::int64_t> state = {};  ///< the boundary, or the saved checkpoint
  /// The run whose values are the scores: rank 0's, where it has what is scored. The number of a
  /// saved one is its number there.
  std::int64_t scored = 0;
};

/// A run, or the runs of all ranks of its group, rank 0 first: they keep and delete the same.
struct RunsTogether {
  std::vector<std::int64_t> runs;
  bool complete = true;  ///< all ranks have begun
};

RunsTogether runs_together(Connection& connection, std::int64_t run);

/// The stored checkpoints of a run, or of its group, in the order of their time, without scores.
/// `state` is that of the run itself where it has one. While one of the runs may go on those of an
/// iteration that is not complete are left out, and what it needs for that is marked as needed. The
/// state before a main loop and checkpoints inside iterations are never among them.
std::vector<LoadedUnit> load_units(Connection& connection, std::int64_t run);
/// The same of what the run itself has stored, whatever the other ranks of its group have.
std::vector<LoadedUnit> load_own_units(Connection& connection, std::int64_t run);

/// The scores of the units by a metric. Of an epoch: what was logged for the epoch itself, else the
/// last value inside it; of several nested loops, that of the one that logged it first the latest.
/// Of a saved checkpoint: what it was saved with, else what was logged at its place, else the score
/// of its epoch. Numbers and booleans count, everything else is missing.
std::vector<Score> load_scores(Connection& connection, std::string_view metric,
                               std::span<const LoadedUnit> units);

/// Throws NotFound or UsageError where no checkpoint can have a score of that name.
void check_metric(Connection& connection, std::int64_t run, const std::string& metric);

/// Not finished in order: it may be running, or be resumed.
bool may_go_on(Connection& connection, std::int64_t run);

}  // namespace flor::store
