// Decodes many chunks: on several threads, with read-ahead, directly into their destinations.
#pragma once

#include "pack/decode_plan.h"

#include <exception>
#include <functional>

namespace flor::store {

/// Called when a task fails: rethrows the exception with a message that names the task.
using Explain = std::function<void(const Task&, std::exception_ptr)>;

/// Decodes the chunks of all tasks into their destinations and compares each with its digest.
/// `threads`: 0 for one per core, at most 8; fewer are used if there is little to decode. Ends at
/// the first exception (PackMissing, Damaged or Error), as rethrown by `explain`.
void restore(const ChunkReader& chunks, std::vector<Task> tasks, DecodeScratchPool& pool,
             unsigned threads, const Explain& explain);

}  // namespace flor::store
