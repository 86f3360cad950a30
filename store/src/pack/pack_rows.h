// The catalog's rows of packs and chunks that are being written.
#pragma once

#include "database/sqlite.h"
#include "pack/pack_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flor::store {

/// Inserts rows for the packs in `packs.touched()`, or updates the sizes in their rows. Returns
/// their ids in the same order. Call it inside a transaction.
std::vector<std::int64_t> put_pack_rows(Connection& connection, const PackWriter& packs);

/// Inserts or updates the row of one pack, which then has at least this size.
std::int64_t put_pack_row(Connection& connection, const std::string& name, std::uint64_t bytes);

/// The place of a record: the row of its pack, and the offset.
struct RowPlace {
  std::int64_t pack = 0;
  std::uint64_t offset = 0;
};

/// Points the row `id` to this record, or inserts a row if `id` is 0. `base` is the row of the
/// base, or 0. Returns the id. Call it inside a transaction.
std::uint32_t put_chunk_row(Connection& connection, std::uint32_t id, const RecordHeader& header,
                            PackOrigin origin, const RowPlace& place, std::uint32_t base);
/// Notes in the index where the record of a chunk came from.
void put_origin(Connection& connection, std::uint32_t chunk, PackOrigin origin);

}  // namespace flor::store
