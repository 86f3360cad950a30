// Copies the facts of a run between catalogs, in which rows have different ids.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>

namespace flor::store {

/// Copies all rows about the run except those of checkpoints and content. If `to` lacks the run it
/// becomes a new one; otherwise the existing facts are replaced, except those of its start and its
/// build. `leader`: id in `to` of the run of the group's rank 0; the run itself if it is rank 0, 0
/// if unknown. `origin`: the origin that `to` records for a new or fetched run; nullopt in a
/// catalog for other homes, which records none. The origin in `from` is never copied. Returns the
/// run's id in `to`. Within transactions of the caller on both catalogs.
std::int64_t copy_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t leader,
                        const std::optional<RunOrigin>& origin);

/// Copies the facts of a run into a store that fetches it, and lacks it or has fetched it before.
/// Not for a run that was recorded here: facts from elsewhere never enter it.
std::int64_t take_facts(Connection& from, std::int64_t run, Database& to, std::int64_t leader,
                        const RunOrigin& origin);

/// Adds a layout under its digest and returns its id in `to`. Within a transaction of the caller.
std::int64_t put_layout(Connection& to, const Digest& digest, Bytes items);

}  // namespace flor::store
