// Distinguishes the present attempt of a group of ranks from earlier ones.
#pragma once

#include <flor/store/store.h>

#include <optional>
#include <string_view>

namespace flor::store {

/// Locks the run of rank 0, whose group is being resumed; returns nullopt if another process holds
/// the lock. Also closes the launch that the previous attempt left open for ranks to join.
/// `is_present` never sees only one of the two changes.
std::optional<RunLock> lock_first_rank(Store& store, std::string_view key);

/// True if rank 0 is recording in the attempt that began with this launch. The lock of its run does
/// not prove that, because a resuming process may have taken it a moment ago. Waits for processes
/// that write to the catalog.
bool is_present(Store& store, const RankLaunch& launch);

}  // namespace flor::store
