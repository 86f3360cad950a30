// The file by which a snapshot of a store is known.
#pragma once

#include "file/paths.h"

namespace flor::store {

/// Exists in a snapshot: nobody ever writes its catalog.
inline std::filesystem::path snapshot_mark(const Paths& paths) { return paths.home / "snapshot"; }

}  // namespace flor::store
