// Drawing again and again while runs go on.
#pragma once

#include <flor/store/store.h>

#include <functional>

namespace flor::cli {

/// Calls `draw` at once, whenever the catalog was written (but never for more than a quarter of
/// the time), and a last time when `draw` returns false: nothing more will come. Ends with true
/// then, and with false as soon as SIGINT or SIGTERM came, which are held back meanwhile and leave
/// no picture half drawn.
bool follow(const store::Store& store, const std::function<bool()>& draw);

}  // namespace flor::cli
