// Whether two catalogs contradict each other about a run: fetching adds to a run that is here, and
// never replaces what it says.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <string>

namespace flor::remote {

/// A run in a catalog.
struct RunPlace {
  store::Connection& connection;
  std::int64_t run = 0;
};

/// Names the first contradiction between `here` and `there` about a run: "'loss' in epoch 3 is 0.5
/// here and 0.7 there". Empty if they agree in all that both have: facts, values, and digests of
/// checkpoints at the same place. `replaces`: `there` takes the place of `here`, so all that is
/// here must be there, too.
///
/// Where only one side was resumed, both must agree about everything before that point. Later facts
/// of this side give way only if a resumption here would have forgotten them as well: the run is
/// not complete here, and has no later state to resume from; or it was fetched in the first place.
std::string contradiction(const RunPlace& here, const RunPlace& there, bool replaces);

}  // namespace flor::remote
