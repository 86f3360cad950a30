// The rows of what a run is missing.
#pragma once

#include "sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>

namespace flor::store {

/// Within a transaction: what is missing after the point is going to be recorded again.
void forget_gaps_after(Connection& connection, std::int64_t run, const ResumePoint& point);

}  // namespace flor::store
