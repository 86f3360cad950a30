// Deletes what a run recorded after the point from which it is resumed.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <string_view>

namespace flor::store {

/// Deletes values logged after the point and answers of replays there, and updates the summaries of
/// the metrics. Within a transaction of the caller.
void forget_values_after(Database& database, std::int64_t run, const ResumePoint& point);

/// Deletes everything else recorded after the point: checkpoints, loops, decisions and gaps. The
/// run is in the state interrupted afterwards.
void forget_facts_after(Connection& connection, std::int64_t run, const ResumePoint& point);

/// Deletes what the run read and wrote after the point; `forget_facts_after` does it, too.
void forget_files_after(Connection& connection, std::int64_t run, const ResumePoint& point);

/// Returns the first step of the loop `path` that is executed again in the epoch of the point. Code
/// directly in the main loop's body is executed again; nested loops continue where they stopped.
std::int64_t first_forgotten_step(std::string_view path, const ResumePoint& point);

}  // namespace flor::store
