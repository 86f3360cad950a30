// The summaries of logged values.
#pragma once

#include <cstdint>

namespace flor::store {

struct Database;

/// Computes all summaries of a run from its values, after those came otherwise than by being
/// logged. Within a transaction of the caller.
void recount_metrics(Database& database, std::int64_t run);

}  // namespace flor::store
