// The image of a run: all its facts as a separate database. It is used in journal events that state
// all facts at once, for fetched runs and for damaged journals.
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
/// Returns the image of a run in `from`. It has the tables of an index, but its columns `chunks`
/// hold digests instead of ids.
std::vector<std::byte> image_of(Connection& from, std::int64_t run, ImageOf contents);

/// Returns an event with all facts that the index has about the run.
CopyEvent copy_event(Connection& index, std::int64_t run);

/// Returns the event with which a forked run begins: the facts of the parent up to the point of the
/// fork (see Catalog::fork_run).
CopyEvent fork_event(Connection& index, const Fork& fork, const NewRun& start,
                     const std::optional<RunBuild>& build, std::span<const std::string> others);

/// Replaces the facts about the run with this key by those of the event, and returns its id. Throws
/// NotFound like `apply_run`.
std::int64_t apply_copy(Database& database, Placing& placing, std::string_view key,
                        const CopyEvent& event);
void apply(Database& database, std::int64_t run, const MergeEvent& event);

}  // namespace flor::store
