// Adds replays of a catalog from elsewhere to a run that was recorded here. Values that were
// recorded or found here stay as they are; those that came are unverified at best.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <cstdint>

namespace flor::store {

/// True if the run was recorded in this home, or imported.
bool is_of_here(Connection& connection, std::int64_t run);

/// Gives the replay `id` of the run its key for journals: the one in `from`, or one made from its
/// facts; with a mark if the run has a replay of that key. The same in every index.
void copy_replay_key(Connection& from, std::int64_t old, Connection& to, std::int64_t run,
                     std::int64_t id);

/// Adds ended replays of a run that are missing here, with their values. Recorded values stay as
/// they are. The caller has checked for contradictions. Within a transaction of the caller, on both
/// sides. Throws Damaged if a value names a missing replay.
void merge_replays(Connection& from, std::int64_t run, Database& to, std::int64_t target,
                   const RunOrigin& origin);

}  // namespace flor::store
