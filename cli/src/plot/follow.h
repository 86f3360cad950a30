// Draws again and again while runs continue.
#pragma once

#include <flor/store/store.h>

#include <functional>

namespace flor::cli {

/// Calls `draw` at once, whenever the catalog was written (but for at most a quarter of the time),
/// and a last time after `draw` has returned false: nothing more will come. Returns true then, or
/// false as soon as SIGINT or SIGTERM came; they are held back meanwhile, so that no picture stays
/// half drawn.
bool follow(const store::Store& store, const std::function<bool()>& draw);

}  // namespace flor::cli
