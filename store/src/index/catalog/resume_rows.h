// What resuming a run takes away from its record.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <string_view>

namespace flor::store {

/// Removes the values that were logged after the point and what replays have answered there, and
/// brings the summaries of the names up to date. Within a transaction of the caller.
void forget_values_after(Database& database, std::int64_t run, const ResumePoint& point);

/// Of the values in the epoch in which a run is resumed: the first step of a loop that is executed
/// again. The code of the iteration itself is, its nested loops are not, as far as they had come.
std::int64_t first_forgotten_step(std::string_view path, const ResumePoint& point);

}  // namespace flor::store
