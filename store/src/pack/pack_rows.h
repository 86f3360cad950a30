// What the catalog says of packs that were appended to.
#pragma once

#include "database/sqlite.h"
#include "pack/pack_writer.h"

#include <cstdint>
#include <vector>

namespace flor::store {

/// Inside a transaction: gives the packs in `packs.touched()` rows, or their rows their new sizes.
/// The ids, in that order; they are for `PackWriter::committed`.
std::vector<std::int64_t> put_pack_rows(Connection& connection, const PackWriter& packs);

}  // namespace flor::store
