// Copying tensors into memory that is read much later, by another thread.
#pragma once

#include <cstddef>

namespace flor::detail {

/// std::memcpy that leaves the destination out of the caches, where the processor can do that: it
/// need not be read before it is written, and the training's data stays in the cache. `to` is
/// aligned to 64 bytes.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace flor::detail
