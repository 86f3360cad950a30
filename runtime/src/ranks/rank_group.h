// How the ranks of a group begin to record, or resume, together. Rank 0 commits the sources,
// chooses the run or the point at which all continue, and writes that down; the others wait for it.
#pragma once

#include "protocol/ranks.h"

#include <flor/store/store.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

/// The text by which processes of one start in this place know each other.
std::string launch_text(const Ranks& ranks, const std::filesystem::path& place);

/// For a rank other than 0: waits until rank 0 has begun. Throws Error after FLOR_RANK_TIMEOUT
/// seconds, 120 by default.
store::RankLaunch await_first_rank(store::Store& store, const Ranks& ranks,
                                   const std::string& launch);

/// The run that this rank of the group has had; nothing if it never came to have one.
std::optional<store::Run> earlier_run(const store::Catalog& catalog, std::int64_t group,
                                      std::int64_t rank);

/// The run as it is now; of one that is being recorded, after a moment: a process that was killed
/// may still be dying when the next one is started.
store::Run after_its_end(const store::Catalog& catalog, const store::Run& run);

/// For rank 0, before the group is resumed: waits a little for ranks that are still dying. Throws
/// Busy for one that is not.
void await_end_of_ranks(const store::Catalog& catalog, std::int64_t group);

}  // namespace flor::detail
