// The catalog's rows of packs that were appended to.
#pragma once

#include "database/sqlite.h"
#include "pack/pack_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

/// Inside a transaction: gives the packs in `packs.touched()` rows, or their rows their new sizes.
/// The ids, in that order.
std::vector<std::int64_t> put_pack_rows(Connection& connection, const PackWriter& packs);

/// The same of one pack, which goes at least that far.
std::int64_t put_pack_row(Connection& connection, const std::string& name, std::uint64_t bytes);

/// Where a record lies, by the row of its pack.
struct RowPlace {
  std::int64_t pack = 0;
  std::uint64_t offset = 0;
};

/// Inside a transaction: the row `id` leads to this record from now on; 0 makes a row. `base` is a
/// row, or 0. Returns the id.
std::uint32_t put_chunk_row(Connection& connection, std::uint32_t id, const RecordHeader& header,
                            PackOrigin origin, const RowPlace& place, std::uint32_t base);
/// Notes in the index where the record of a row came from.
void put_origin(Connection& connection, std::uint32_t chunk, PackOrigin origin);

}  // namespace flor::store
