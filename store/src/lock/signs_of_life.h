// Tells which runs may be alive, and when they last wrote, without looking at every run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

class Store;

/// Returns the sorted keys of the runs that have a lock file: runs that are being recorded, and
/// runs whose process was killed and that were not resumed (`Store::is_being_recorded`
/// distinguishes them). Reads one directory.
std::vector<std::string> locked_runs(const Store& store);

/// Returns when a journal of the run was last written, in Unix microseconds by the clock of the
/// store's disk; 0 if the run has no journal.
std::int64_t last_sign_us(const Store& store, std::string_view key);

}  // namespace flor::store
