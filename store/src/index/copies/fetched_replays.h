// Adds replays from a foreign catalog to a run that was recorded here. Values recorded or found
// here are not changed; values that arrive are at most unverified.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <cstdint>

namespace flor::store {

/// True if the run was recorded in this home or imported, thus not fetched.
bool is_of_here(Connection& connection, std::int64_t run);

/// Gives the run's replay `id` the key by which journals name it: its key in `from`, or one
/// computed from its facts. If the run already has a replay with this key, a mark is added to it.
/// Every index computes the same key.
void copy_replay_key(Connection& from, std::int64_t old, Connection& to, std::int64_t run,
                     std::int64_t id);

/// Adds finished replays that the run lacks here, with their values. Recorded values are not
/// changed. The caller has checked that nothing contradicts. Within transactions of the caller on
/// both catalogs. Throws Damaged if a value names a missing replay.
void merge_replays(Connection& from, std::int64_t run, Database& to, std::int64_t target,
                   const RunOrigin& origin);

}  // namespace flor::store
