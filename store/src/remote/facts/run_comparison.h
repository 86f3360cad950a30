// Compares what two catalogs say about a run. Fetching may add to a run that is already here, but
// must never change what is known about it.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <string>

namespace flor::remote {

/// A run, and the catalog that describes it.
struct RunPlace {
  store::Connection& connection;
  std::int64_t run = 0;
};

/// Returns the first contradiction between `here` and `there` about a run: "'loss' in epoch 3 is
/// 0.5 here and 0.7 there". Empty if facts, values, and digests of checkpoints at the same place
/// agree, as far as both have them. `replaces`: `there` is to replace `here`, so it must have
/// everything that is here.
///
/// If only one side was resumed, both must agree about everything before that point. Later facts of
/// `here` may be replaced only if resuming here would have deleted them as well: the run is not
/// complete here and has no later state to resume from, or it was fetched in the first place.
std::string contradiction(const RunPlace& here, const RunPlace& there, bool replaces);

}  // namespace flor::remote
