// Redraws a plot while its runs continue.
#pragma once

#include <flor/store/store.h>

#include <functional>

namespace flor::cli {

/// Calls `draw` at once and whenever the catalog was written; drawing takes at most a quarter of
/// the time. When `draw` returns false, because nothing more will come, calls it a last time and
/// returns true. Returns false after SIGINT or SIGTERM, which do not interrupt `draw`, so that no
/// picture stays half drawn.
bool follow(const store::Store& store, const std::function<bool()>& draw);

}  // namespace flor::cli
