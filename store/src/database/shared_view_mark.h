// The file that marks a home as a snapshot of a store (maintain/shared_view.h).
#pragma once

#include "file/paths.h"

namespace flor::store {

/// Exists in a snapshot of a store; no process writes to its catalog.
inline std::filesystem::path snapshot_mark(const Paths& paths) { return paths.home / "snapshot"; }

}  // namespace flor::store
