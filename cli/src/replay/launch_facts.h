// What the catalog knows of a run that a replay's plan needs: loops, boundaries, costs.
#pragma once

#include "replay/pool.h"

#include <flor/store/catalog.h>

#include <string>
#include <vector>

namespace flor::cli {

/// Costs are those of the recording: what is skipped is loaded instead, at the speed of earlier
/// replays if there were any. `probes`: nested loops that are executed although they could be
/// skipped.
RunFacts replay_facts(const store::Catalog& catalog, const store::Run& run,
                      const std::vector<std::string>& probes);

/// For a plug-in that sees what is stored: nothing else of these epochs is done.
void expect_loads_alone(RunFacts& facts);

/// The parts of a run that these epochs stand for: themselves, what is logged before the first main
/// loop with epoch 0, and what is logged after a loop with its last epoch.
std::set<std::int64_t> parts_of(const std::vector<store::MainLoop>& loops,
                                const std::vector<Epochs>& epochs);

/// Adds up what several parts or ranks found; the verdict is the worst of them.
void add(store::ReplayResult& sum, const store::ReplayResult& more);

/// "3..5, 7", or with the stretches outside the loops "3..5 and what follows the loop".
std::string print_parts(const std::set<std::int64_t>& parts);

}  // namespace flor::cli
