// All facts about a run as a separate database, for events of journals that state all of them at
// once: those of a fetched run, and those of damaged journals.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"
#include "index/placing.h"
#include "journal/events.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

enum class ImageOf : std::uint8_t {
  none,  ///< without its checkpoints and objects
  all,
};
/// The image of a run in `from`: it has the tables of an index, but columns `chunks` hold digests.
std::vector<std::byte> image_of(Connection& from, std::int64_t run, ImageOf contents);

/// An event with all facts in the index about the run.
CopyEvent copy_event(Connection& index, std::int64_t run);

/// An event with which the run `start.key` begins as a copy of another one up to a point: see
/// Catalog::fork_run.
CopyEvent fork_event(Connection& index, const Fork& fork, const NewRun& start,
                     const std::optional<RunBuild>& build, std::span<const std::string> others);

/// Replaces the facts about the run of this key by those of the event. Returns its id. Throws
/// NotFound as `apply_run` does.
std::int64_t apply_copy(Database& database, Placing& placing, std::string_view key,
                        const CopyEvent& event);
void apply(Database& database, std::int64_t run, const MergeEvent& event);

}  // namespace flor::store
