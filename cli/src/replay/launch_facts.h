// The facts of a run, out of the catalog, that a replay's plan needs: loops, boundaries, costs.
#pragma once

#include "replay/pool.h"

#include <flor/store/catalog.h>

#include <string>
#include <vector>

namespace flor::cli {

/// Costs are those of the recording, except that skipped loops are loaded, at the speed of earlier
/// replays if there were any. `probes`: nested loops that are executed although they could be
/// skipped.
RunFacts replay_facts(const store::Catalog& catalog, const store::Run& run,
                      const std::vector<std::string>& probes);

/// For a plug-in that sees the stored state: these epochs are only loaded.
void expect_loads_alone(RunFacts& facts);

/// The parts of a run that these epochs include: the epochs themselves, what is logged before the
/// first main loop with the first epoch, and what is logged after a loop with its last epoch.
/// `first`: the first epoch of a run that was forked, which has the code after earlier loops, too.
std::set<std::int64_t> parts_of(const std::vector<store::MainLoop>& loops,
                                const std::vector<Epochs>& epochs, std::int64_t first = 0);

/// Adds up the results of several parts or ranks; the verdict is the worst of them.
void add(store::ReplayResult& sum, const store::ReplayResult& more);

/// "3..5, 7"; parts outside the loops are named only if there are no epochs.
std::string print_parts(const std::set<std::int64_t>& parts);

}  // namespace flor::cli
