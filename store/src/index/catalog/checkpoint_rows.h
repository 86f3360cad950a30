// Rows of the tables `checkpoint` and `discarded`, for all parts of the catalog that read them.
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

/// All columns of a checkpoint: they move to `discarded` when it is deleted, and back when that is
/// undone.
#define FLOR_DISCARDED_COLUMNS                                                               \
  "id, run, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, " \
  "layout, chunks"

class Writing;

/// The name in events of the checkpoint in a row of `checkpoint`, or of `discarded`, and its run.
struct NamedRow {
  std::int64_t run = 0;
  CheckpointName name;
};
NamedRow name_checkpoint(Connection& connection, std::int64_t id);
NamedRow name_discarded(Connection& connection, std::int64_t id);

/// Deletes checkpoints, whose content can be brought back until it is collected, and recounts those
/// of their runs.
void discard_checkpoints(Writing& writing, std::span<const std::int64_t> ids);

/// Recounts the checkpoints of a run after some came or went other than by being written. Leaves
/// the count of bytes that the run added to packs. Within a transaction of the caller.
void recount_checkpoints(Connection& connection, std::int64_t run);

}  // namespace flor::store
