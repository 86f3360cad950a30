// Copies the facts of a run from one catalog to another, where everything has other numbers.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>

namespace flor::store {

/// All rows about the run but those of its checkpoints and of content: a new run if `to` has none
/// of its key, else the one there is, whose facts are replaced. What it was started with, and how
/// it was built, never changes. `leader` is the id of the run that leads its group in `to`; the run
/// itself if it is rank 0, 0 where it is not known. `origin` is what `to` is to say of a new run,
/// or of one that was fetched before; nothing in a catalog for others, which does not say it. The
/// word of `from` on it is never copied. Returns the id of the run in `to`. Within a transaction of
/// the caller, on both sides.
std::int64_t copy_facts(Connection& from, std::int64_t run, Connection& to, std::int64_t leader,
                        const std::optional<RunOrigin>& origin);

/// The same for the store of a user, which fetches a run that it does not have, or that it fetched
/// before. Not for one that was recorded here: nothing that was recorded elsewhere becomes part of
/// that.
std::int64_t take_facts(Connection& from, std::int64_t run, Database& to, std::int64_t leader,
                        const RunOrigin& origin);

/// Layouts, by their digests; the id in `to`. Within a transaction of the caller.
std::int64_t put_layout(Connection& to, const Digest& digest, Bytes items);

}  // namespace flor::store
