// Reads from the catalog what planning a replay needs to know of a run: loops, boundaries, costs.
#pragma once

#include "replay/pool.h"

#include <flor/store/catalog.h>

#include <string>
#include <vector>

namespace flor::cli {

/// The facts for planning. The costs are those of the recording, except that a skipped loop costs
/// the time to load its end, as measured in earlier replays if there were any. `probes`: nested
/// loops to execute although they could be skipped, up to the last of `steps` if any are chosen.
RunFacts replay_facts(const store::Catalog& catalog, const store::Run& run,
                      const std::vector<std::string>& probes, const detail::StepChoice& steps = {});

/// Changes the costs for a plug-in that sees only the stored state: every epoch is loaded, none
/// executed.
void expect_loads_alone(RunFacts& facts);

/// The parts of a run that a replay of `epochs` covers: these epochs, the code before the first
/// main loop if the first epoch is among them, and the code after a loop if the loop's last epoch
/// is. `first`: the first epoch of a run that was forked, which covers the code after earlier
/// loops, too.
std::set<std::int64_t> parts_of(const std::vector<store::MainLoop>& loops,
                                const std::vector<Epochs>& epochs, std::int64_t first = 0);

/// Adds the result of another part or rank to `sum`; the verdict becomes the worse of the two.
void add(store::ReplayResult& sum, const store::ReplayResult& more);

/// The parts as text: "3..5, 7". Parts outside the loops are named only if there are no epochs.
std::string print_parts(const std::set<std::int64_t>& parts);

}  // namespace flor::cli
