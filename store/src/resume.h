// What resuming a run takes away from its record.
#pragma once

#include "database.h"

#include <cstdint>

namespace flor::store {

/// Removes the values that were logged after the point and what replays have answered there, and
/// brings the summaries of the names up to date. Within a transaction of the caller.
void forget_values_after(Database& database, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
