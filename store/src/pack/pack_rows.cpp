#include "pack/pack_rows.h"

#include "database/database.h"

#include <flor/store/error.h>

#include <limits>
#include <optional>

namespace flor::store {

std::vector<std::int64_t> put_pack_rows(Connection& connection, const PackWriter& packs) {
  std::vector<std::int64_t> ids;
  for (const auto& pack : packs.touched())
    ids.push_back(put_pack_row(connection, pack->name, pack->bytes));
  return ids;
}

std::int64_t put_pack_row(Connection& connection, const std::string& name, std::uint64_t bytes) {
  const auto size = static_cast<std::int64_t>(bytes);
  const auto known = connection(
      "UPDATE pack SET bytes = max(bytes, ?2) WHERE name = ?1 RETURNING id", name, size);
  if (known->step()) return known->integer(0);
  connection("INSERT INTO pack (name, bytes, created_us) VALUES (?1, ?2, ?3)", name, size, now_us())
      ->run();
  return connection.last_id();
}

std::uint32_t put_chunk_row(Connection& connection, std::uint32_t id, const RecordHeader& header,
                            PackOrigin origin, const RowPlace& place, std::uint32_t base) {
  const bool is_new = id == 0;
  connection(is_new ? "INSERT INTO chunk (digest, pack, offset, raw_bytes, stored_bytes, codec, "
                      "type, depth, base) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, nullif(?9, 0))"
                    : "UPDATE chunk SET pack = ?2, offset = ?3, raw_bytes = ?4, stored_bytes = ?5, "
                      "codec = ?6, type = ?7, depth = ?8, base = nullif(?9, 0) WHERE digest = ?1",
             header.digest, place.pack, static_cast<std::int64_t>(place.offset),
             std::int64_t{header.raw_bytes}, std::int64_t{header.stored_bytes},
             std::int64_t{header.codec}, static_cast<std::int64_t>(header.type),
             std::int64_t{header.depth}, std::int64_t{base})
      ->run();
  if (is_new) {
    const std::int64_t made = connection.last_id();
    if (made > std::numeric_limits<std::uint32_t>::max()) {
      // A rebuilt index numbers the existing chunks from 1.
      remember_damage(connection.path());
      throw Error(
          "the numbers of chunks in the catalog are used up: the next command makes it again, and "
          "a "
          "recording that begins then goes on");
    }
    id = static_cast<std::uint32_t>(made);
  }
  put_origin(connection, id, origin);
  return id;
}

void put_origin(Connection& connection, std::uint32_t chunk, PackOrigin origin) {
  connection(origin == PackOrigin::elsewhere
                 ? "INSERT OR IGNORE INTO foreign_chunk (chunk) VALUES (?1)"
                 : "DELETE FROM foreign_chunk WHERE chunk = ?1",
             std::int64_t{chunk})
      ->run();
}

}  // namespace flor::store
