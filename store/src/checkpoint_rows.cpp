#include "checkpoint_rows.h"

namespace flor::store {

CheckpointInfo read_checkpoint(const Query& row) {
  CheckpointInfo info;
  info.id = row.integer(0);
  info.key.kind = static_cast<CheckpointKind>(row.integer(1));
  info.key.main_loop = row.integer(2);
  info.key.iteration = row.integer(3);
  info.key.loop = row.text(4);
  info.raw_bytes = static_cast<std::uint64_t>(row.integer(5));
  info.stored_bytes = static_cast<std::uint64_t>(row.integer(6));
  info.created_us = row.integer(7);
  info.digest = row.digest(8);
  return info;
}

void discard_checkpoint(Connection& connection, std::int64_t id, std::int64_t now_us) {
  connection("INSERT OR REPLACE INTO discarded (" FLOR_DISCARDED_COLUMNS
             ", discarded_us) SELECT " FLOR_DISCARDED_COLUMNS ", ?2 FROM checkpoint WHERE id = ?1",
             id, now_us)
      ->run();
  connection("DELETE FROM checkpoint WHERE id = ?1", id)->run();
}

void recount_checkpoints(Connection& connection, std::int64_t run) {
  connection(
      "UPDATE run SET "
      "checkpoints = (SELECT count(*) FROM checkpoint WHERE run = ?1), "
      "raw_bytes = (SELECT coalesce(sum(raw_bytes), 0) FROM checkpoint WHERE run = ?1) "
      "WHERE id = ?1",
      run)
      ->run();
}

}  // namespace flor::store
