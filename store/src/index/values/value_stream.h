// Reads logged values one at a time, for runs that logged millions.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// Passes each value that `Catalog::values` would return to `sink`, holding at most some ten
/// thousand values and those of one step in memory. Order: names as they were first logged, then
/// names of evaluators alphabetically; within a name by loop; within a loop by epoch, step, inner,
/// ordinal. All logged values come from one state of the catalog. `sink` may use the store and move
/// from its argument; an exception from it ends the reading. Throws like `Catalog::values`.
void each_value(const Store& store, const ValueQuery& query,
                const std::function<void(Value&&)>& sink);

/// Returns the loops (Place::path) in which the run logged values with these names.
std::vector<std::string> value_paths(const Store& store, std::int64_t run,
                                     std::span<const std::string> names);

}  // namespace flor::store
