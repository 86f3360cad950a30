// Rows of the tables `checkpoint` and `discarded`, as several parts of the catalog read them.
#pragma once

#include "sqlite.h"

#include <flor/store/checkpoint.h>

#include <cstdint>

namespace flor::store {

/// Columns for `read_checkpoint`, the first nine of either table.
#define FLOR_CHECKPOINT_COLUMNS \
  "id, kind, main_loop, iteration, loop, raw_bytes, stored_bytes, created_us, digest"

CheckpointInfo read_checkpoint(const Query& row);

/// Brings the counters of a run up to date after checkpoints of it came or went other than by being
/// written. What it added to the packs is what it was. Within a transaction of the caller.
void recount_checkpoints(Connection& connection, std::int64_t run);

}  // namespace flor::store
