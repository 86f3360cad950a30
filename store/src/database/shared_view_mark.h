// The file that marks a snapshot of a store.
#pragma once

#include "file/paths.h"

namespace flor::store {

/// Exists in a snapshot of a store, whose catalog no process ever writes.
inline std::filesystem::path snapshot_mark(const Paths& paths) { return paths.home / "snapshot"; }

}  // namespace flor::store
