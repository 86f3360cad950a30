// How the ranks of a group tell its present attempt from the one before.
#pragma once

#include <flor/store/store.h>

#include <optional>
#include <string_view>

namespace flor::store {

/// Takes the lock of the run of rank 0, whose group goes on; nothing if another process holds it.
/// What the attempt before left open for others to join is closed in the same moment, as
/// `is_present` sees it.
std::optional<RunLock> lock_first_rank(Store& store, std::string_view key);

/// Rank 0 is recording in the very attempt that began with this launch. That its run is locked does
/// not say so: one that goes on may have taken the lock a moment ago. Waits for those that write to
/// the catalog.
bool is_present(Store& store, const RankLaunch& launch);

}  // namespace flor::store
