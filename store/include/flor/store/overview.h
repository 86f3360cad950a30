// What a view of all runs needs that stays open: facts of every run at once, and whether they have
// changed since.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace flor::store {

class Store;

/// Another number than before, when another process, or another `Store` of this one, has changed
/// the catalog since. Costs next to nothing. Says nothing of processes that died. Thread-safe.
std::int64_t change_mark(const Store& store);

/// The arguments of every run at once, by the run's id; of each in the order of
/// `Catalog::arguments`.
std::unordered_map<std::int64_t, std::vector<Argument>> all_arguments(const Store& store);

}  // namespace flor::store
