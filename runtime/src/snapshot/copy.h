// Copies tensors into memory that another thread reads much later.
#pragma once

#include <cstddef>

namespace flor::detail {

/// Like std::memcpy, but keeps the destination out of the processor's caches where possible: the
/// destination need not be read before it is written, and the training's data stays cached. `to` is
/// aligned to 64 bytes.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace flor::detail
