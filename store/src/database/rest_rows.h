// The catalog's rows about the gaps of a run: epochs whose checkpoints or values are missing.
#pragma once

#include "database/database.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <span>

namespace flor::store {

// To be called within a transaction.

/// Deletes the gaps after the point where a run is resumed, because those epochs are recorded
/// again.
void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
