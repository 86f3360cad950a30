// Removes the part of a run's record that comes after the point of resuming.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <string_view>

namespace flor::store {

/// Removes values that were logged after the point, and answers of replays there, and updates the
/// summaries of the names. Within a transaction of the caller.
void forget_values_after(Database& database, std::int64_t run, const ResumePoint& point);

/// The same for all else: checkpoints, loops, decisions and gaps. The run is interrupted then.
void forget_facts_after(Connection& connection, std::int64_t run, const ResumePoint& point);

/// The same for what the run has read and written, which `forget_facts_after` does, too.
void forget_files_after(Connection& connection, std::int64_t run, const ResumePoint& point);

/// The first step of a loop that is executed again, in the epoch in which a run is resumed. Code of
/// the iteration itself is executed again, but not nested loops, as far as they had come.
std::int64_t first_forgotten_step(std::string_view path, const ResumePoint& point);

}  // namespace flor::store
