// Changes the verdicts of a replay's values. Call these inside a transaction.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <span>

namespace flor::store {

void doubt_values(Database& database, std::int64_t run, std::int64_t replay);
void verify_values(Database& database, std::int64_t run, std::int64_t replay,
                   std::span<const std::int64_t> epochs);

}  // namespace flor::store
