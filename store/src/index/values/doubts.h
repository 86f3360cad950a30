// Changes a replay's values when more is known about it. Inside a transaction of the caller.
#pragma once

#include "database/database.h"

#include <cstdint>
#include <span>

namespace flor::store {

void doubt_values(Database& database, std::int64_t run, std::int64_t replay);
void verify_values(Database& database, std::int64_t run, std::int64_t replay,
                   std::span<const std::int64_t> epochs);

}  // namespace flor::store
