// The rows of what a run is missing, and of what it writes last.
#pragma once

#include "database/database.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

// Within a transaction.

/// Epochs after the point are going to be recorded again.
void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
