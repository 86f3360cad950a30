// What is known of a run as a database of its own, for events of journals that say all of it at
// once: what was fetched, and what a damaged journal had said.
#pragma once

#include "database/database.h"
#include "database/sqlite.h"
#include "index/placing.h"
#include "journal/events.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace flor::store {

enum class ImageOf : std::uint8_t {
  none,  ///< without its checkpoints and objects
  all,
};
/// Of a run in `from`. It has the tables of an index; but the columns `chunks` hold digests.
std::vector<std::byte> image_of(Connection& from, std::int64_t run, ImageOf contents);

/// All that the index says of the run.
CopyEvent copy_event(Connection& index, std::int64_t run);

/// The run of that key becomes what the event says. Returns its id. NotFound as `apply_run` has it.
std::int64_t apply_copy(Database& database, Placing& placing, std::string_view key,
                        const CopyEvent& event);
void apply(Database& database, std::int64_t run, const MergeEvent& event);

}  // namespace flor::store
