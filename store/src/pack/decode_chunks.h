// Decodes many chunks at once: several threads, read-ahead, straight into the destinations.
#pragma once

#include "pack/decode_plan.h"

#include <exception>
#include <functional>

namespace flor::store {

/// Rethrows the exception that a task met, adding which task it was.
using Explain = std::function<void(const Task&, std::exception_ptr)>;

/// Decodes the chunks of all tasks into their places, and compares each with its digest. `threads`
/// 0: as many as there are cores, at most 8; never more than the bytes are worth. The first
/// exception ends it: PackMissing, Damaged or Error, as `explain` rethrows it.
void restore(const ChunkReader& chunks, std::vector<Task> tasks, DecodeScratchPool& pool,
             unsigned threads, const Explain& explain);

}  // namespace flor::store
