// The rows about the gaps of a run: epochs that it lacks.
#pragma once

#include "database/database.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

// Call these within a transaction.

/// Removes the gaps after the point, because those epochs will be recorded again.
void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
