// Removal of runs: they are out of every list and choice, and come back until garbage is collected,
// which drops them and frees what no other run needs.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace flor::store {

class Store;

struct RemovalReport {
  std::int64_t runs = 0;  ///< with all ranks of their groups
  std::int64_t checkpoints = 0;
  std::uint64_t freed = 0;  ///< bytes of records that no other run needs
};

/// Says what the removal of these runs would free, and changes nothing.
RemovalReport plan_removal(const Store& store, std::span<const std::int64_t> runs);
/// Removes runs, each with its whole group. One transaction in the index; a process that is killed
/// meanwhile has removed some of the runs. Throws Busy, with nothing removed, while one of them is
/// recorded, replayed or resumed.
void remove_runs(Store& store, std::span<const std::int64_t> runs);
/// Brings a removed run back, with its group. Throws Busy while garbage is collected, NotFound once
/// a collection has begun to drop the group.
void bring_back(Store& store, std::int64_t run);

/// The content that goes with runs: ids of their checkpoints, and of objects that no other run has
/// logged.
struct ContentOfRuns {
  std::set<std::int64_t> checkpoints, objects;
};
ContentOfRuns content_of(Connection& connection, const std::set<std::int64_t>& runs);

/// Value of the label `removed` of a run that is removed, and of a group that is being dropped.
inline constexpr const char *kRemoved = "1", *kBeingDropped = "2";

}  // namespace flor::store
