// Which runs may be alive, and when they were last heard of, without looking at every run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// Keys of the runs whose locks lie in the store, sorted: those that are being recorded, and those
/// whose process was killed and has no successor yet (`Store::is_being_recorded` tells). Costs one
/// look at a directory.
std::vector<std::string> locked_runs(const Store& store);

/// When a journal of the run was last written, in Unix microseconds by the clock of the store's
/// disk; 0 if it has none.
std::int64_t last_sign_us(const Store& store, std::string_view key);

}  // namespace flor::store
