// Removal of runs. A removed run is left out of all lists and choices. It can be restored until
// garbage collection drops it and frees the content that no other run needs.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace flor::store {

class Store;

struct RemovalReport {
  std::int64_t runs = 0;  ///< including all ranks of their groups
  std::int64_t checkpoints = 0;
  std::uint64_t freed = 0;  ///< bytes of records that no other run needs
};

/// Returns what the removal of these runs would free, without removing them.
RemovalReport plan_removal(const Store& store, std::span<const std::int64_t> runs);
/// Removes runs, each with its whole group. The index changes in one transaction, but if the
/// process is killed meanwhile, only some of the runs may be removed. Throws Busy, and removes
/// nothing, while one of them is recorded, replayed or resumed.
void remove_runs(Store& store, std::span<const std::int64_t> runs);
/// Restores a removed run and its group. Throws Busy while garbage is collected, NotFound if a
/// collection has begun to drop the group.
void bring_back(Store& store, std::int64_t run);

/// Content that is needed by the given runs alone: ids of their checkpoints, and of objects that no
/// other run has logged.
struct ContentOfRuns {
  std::set<std::int64_t> checkpoints, objects;
};
ContentOfRuns content_of(Connection& connection, const std::set<std::int64_t>& runs);

/// Value of the label `removed` for a removed run, and for a group that is being dropped.
inline constexpr const char *kRemoved = "1", *kBeingDropped = "2";

}  // namespace flor::store
