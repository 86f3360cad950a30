// Determines which checkpoints evaluators have yet to score.
#pragma once

#include "database/database.h"
#include "retention/retention_units.h"

#include <cstdint>
#include <span>
#include <vector>

namespace flor::store {

/// Marks the units whose evaluation is in the queue, and those that a living watch of the run has
/// not looked at yet. `runs`: as in RunsTogether.
void mark_awaited(Database& database, Connection& connection, const std::vector<std::int64_t>& runs,
                  std::span<LoadedUnit> units);

}  // namespace flor::store
