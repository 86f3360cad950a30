// Copies the facts of a run from one catalog to another, in which all rows have other ids.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>

namespace flor::store {

/// Copies all rows about the run except those of its checkpoints and of content: as a new run if
/// `to` has none of its key, otherwise replacing the facts of that one. Facts of its start and its
/// build never change. `leader` is the id of the run that leads its group in `to`; the run itself
/// if it is rank 0, 0 if unknown. `origin` is the origin to enter in `to` for a new run, or one
/// that was fetched before; nothing in a catalog for other homes, which has none. The origin in
/// `from` is never copied. Returns the id of the run in `to`. Within a transaction of the caller,
/// on both sides.
std::int64_t copy_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t leader,
                        const std::optional<RunOrigin>& origin);

/// The same for the store of a user that fetches a run which it lacks, or has fetched before. Not
/// for a run that was recorded here: nothing recorded elsewhere becomes part of it.
std::int64_t take_facts(Connection& from, std::int64_t run, Database& to, std::int64_t leader,
                        const RunOrigin& origin);

/// Adds a layout under its digest; returns its id in `to`. Within a transaction of the caller.
std::int64_t put_layout(Connection& to, const Digest& digest, Bytes items);

}  // namespace flor::store
