// How the ranks of a group begin or resume a recording together. Rank 0 commits the sources,
// chooses the run or the point to resume from, and writes this down for the others, which wait for
// it.
#pragma once

#include "protocol/ranks.h"

#include <flor/store/store.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

/// A text that is the same for all processes of one start in this place, and different for other
/// starts.
std::string launch_text(const Ranks& ranks, const std::filesystem::path& place);

/// Called by ranks other than 0: waits until rank 0 has begun. Throws Error after FLOR_RANK_TIMEOUT
/// seconds (120 by default).
store::RankLaunch await_first_rank(store::Store& store, const Ranks& ranks,
                                   const std::string& launch);

/// The run that this rank already has in the group; nothing if it has none.
std::optional<store::Run> earlier_run(const store::Catalog& catalog, std::int64_t group,
                                      std::int64_t rank);

/// The run as it is now. If it is being recorded, first waits a moment: a killed process may still
/// be ending when the next one starts.
store::Run after_its_end(const store::Catalog& catalog, const store::Run& run);

/// Called by rank 0 before the group is resumed: waits a little for ranks that are still ending.
/// Throws Busy if one does not end.
void await_end_of_ranks(const store::Catalog& catalog, std::int64_t group);

}  // namespace flor::detail
