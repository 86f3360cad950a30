// Rows of the tables `checkpoint` and `discarded`, for all code that reads them.
#pragma once

#include "database/sqlite.h"
#include "journal/events.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <span>

namespace flor::store {

/// The columns that `read_checkpoint` expects: the first nine of either table.
#define FLOR_CHECKPOINT_COLUMNS \
  "id, kind, main_loop, iteration, loop, raw_bytes, stored_bytes, created_us, digest"

CheckpointInfo read_checkpoint(const Query& row);

/// All columns of a checkpoint. Its row moves to `discarded` when it is deleted, and back when that
/// is undone.
#define FLOR_DISCARDED_COLUMNS                                                               \
  "id, run, kind, main_loop, iteration, loop, created_us, raw_bytes, stored_bytes, digest, " \
  "layout, chunks"

class Writing;

/// The run and the CheckpointName of a row of `checkpoint` or `discarded`.
struct NamedRow {
  std::int64_t run = 0;
  CheckpointName name;
};
NamedRow name_checkpoint(Connection& connection, std::int64_t id);
NamedRow name_discarded(Connection& connection, std::int64_t id);

/// Deletes checkpoints and updates the checkpoint counts of their runs. Their content can be
/// restored until it is collected.
void discard_checkpoints(Writing& writing, std::span<const std::int64_t> ids);

/// Called when a checkpoint was stored: if it had been deleted, it is there again. Within a
/// transaction of the caller.
void note_return(Connection& connection, std::int64_t run, const CheckpointName& name);

/// Updates the counts of a run's checkpoints after some were added or removed in another way than
/// by recording. Does not change the number of bytes that the run added to packs. Within a
/// transaction of the caller.
void recount_checkpoints(Connection& connection, std::int64_t run);

}  // namespace flor::store
