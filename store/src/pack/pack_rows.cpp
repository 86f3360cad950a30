#include "pack/pack_rows.h"

#include "database/database.h"

namespace flor::store {

std::vector<std::int64_t> put_pack_rows(Connection& connection, const PackWriter& packs) {
  std::vector<std::int64_t> ids;
  for (const auto& pack : packs.touched()) {
    const auto bytes = static_cast<std::int64_t>(pack->bytes);
    if (pack->row != 0) {
      connection("UPDATE pack SET bytes = ?2 WHERE id = ?1", pack->row, bytes)->run();
      ids.push_back(pack->row);
    } else {
      connection("INSERT INTO pack (name, bytes, created_us) VALUES (?1, ?2, ?3)", pack->name,
                 bytes, now_us())
          ->run();
      ids.push_back(connection.last_id());
    }
  }
  return ids;
}

}  // namespace flor::store
