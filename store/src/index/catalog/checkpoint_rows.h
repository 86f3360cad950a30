// Rows of the tables `checkpoint` and `discarded`, as several parts of the catalog read them.
#pragma once

#include "database/sqlite.h"
#include "journal/events.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <span>

namespace flor::store {

/// Columns for `read_checkpoint`, the first nine of either table.
#define FLOR_CHECKPOINT_COLUMNS \
  "id, kind, main_loop, iteration, loop, raw_bytes, stored_bytes, created_us, digest"

CheckpointInfo read_checkpoint(const Query& row);

/// All that a checkpoint is: what goes over when one is deleted, and comes back when that is
/// undone.
#define FLOR_DISCARDED_COLUMNS                                                               \
  "id, run, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, " \
  "layout, chunks"

class Writing;

/// What events call the checkpoint in this row of `checkpoint`, or of `discarded`, and its run.
struct NamedRow {
  std::int64_t run = 0;
  CheckpointName name;
};
NamedRow name_checkpoint(Connection& connection, std::int64_t id);
NamedRow name_discarded(Connection& connection, std::int64_t id);

/// Checkpoints become deleted ones, whose content can be brought back until it is collected. The
/// counters of their runs are recounted.
void discard_checkpoints(Writing& writing, std::span<const std::int64_t> ids);

/// Brings the counters of a run up to date after checkpoints of it came or went other than by being
/// written. What it added to the packs is what it was. Within a transaction of the caller.
void recount_checkpoints(Connection& connection, std::int64_t run);

}  // namespace flor::store
