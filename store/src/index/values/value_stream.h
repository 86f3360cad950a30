// Logged values one after the other, for runs that logged millions.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flor::store {

class Store;

/// Passes what `Catalog::values` returns to `sink`, value by value, and holds no more than some ten
/// thousand values and those of one step. Names come in the order in which they were first logged,
/// then those of evaluators, by name; the values of a name loop by loop, in a loop by epoch, step,
/// inner, ordinal. All logged values are of one state of the catalog. `sink` may use the store, and
/// move from its argument. An exception of `sink` ends the reading. Throws as `Catalog::values`
/// does.
void each_value(const Store& store, const ValueQuery& query,
                const std::function<void(Value&&)>& sink);

/// The loops in which the run logged values of these names, as `Place::path`.
std::vector<std::string> value_paths(const Store& store, std::int64_t run,
                                     std::span<const std::string> names);

}  // namespace flor::store
