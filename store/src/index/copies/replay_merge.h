// Replays of a catalog that came from elsewhere, added to a run that was recorded here. That which
// was recorded or found here stays as it is; that which came is no more than unverified.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <cstdint>

namespace flor::store {

/// Whether the run was recorded in this home, or imported.
bool is_of_here(Connection& connection, std::int64_t run);

/// What journals call the replay `id` of the run: its key in `from`, or one made from what it is;
/// with a mark where the run has a replay of that key. The same in every index.
void copy_replay_key(Connection& from, std::int64_t old, Connection& to, std::int64_t run,
                     std::int64_t id);

/// Adds the replays of a run that have ended and are not here, with what they found. Nothing that
/// the run recorded changes. The caller has looked for contradictions. Within a transaction of the
/// caller, on both sides. Damaged if a value names a replay that is not there.
void merge_replays(Connection& from, std::int64_t run, Database& to, std::int64_t target,
                   const RunOrigin& origin);

}  // namespace flor::store
