// Replays of a catalog that came from elsewhere, added to a run that was recorded here. That which
// was recorded or found here stays as it is; that which came is no more than unverified.
#pragma once

#include "database.h"
#include "sqlite.h"

#include <cstdint>

namespace flor::remote {

/// Whether the run was recorded in this home, or imported.
bool is_of_here(store::Connection& connection, std::int64_t run);

/// Adds the replays of a run that have ended and are not here, with what they found. Nothing that
/// the run recorded changes. The caller has looked for contradictions. Within a transaction of the
/// caller, on both sides. Damaged if a value names a replay that is not there.
void merge_replays(store::Connection& from, std::int64_t run, store::Database& to,
                   std::int64_t target, const store::RunOrigin& origin);

}  // namespace flor::remote
