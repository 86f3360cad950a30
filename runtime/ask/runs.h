// Runs and epochs as users write them: RUN, RUN@EPOCH, RUN@best, A..B; and which run is meant if
// they name none.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::ask {

/// A range of epochs from 0 on, both ends included.
struct EpochRange {
  std::int64_t first = 0;
  std::int64_t last = INT64_MAX;
};

/// Parses "3", "2..5", "2..", "..5". Throws UsageError.
EpochRange parse_epochs(std::string_view text);

struct RunChoice {
  store::Run run;
  std::optional<std::int64_t> epoch;  ///< of RUN@EPOCH or RUN@latest
  std::string saved = {};             ///< of RUN@NAME: the name of a checkpoint that the program
                                      ///< saved
};

/// Parses RUN, or RUN with a checkpoint in the forms of `store::find_place`. RUN@latest and
/// RUN@best become the epoch, or the saved checkpoint, that they mean. Throws NotFound with the
/// nearest names, UsageError if the text is ambiguous.
RunChoice parse_run(const store::Store& store, std::string_view text);

/// The run that is meant when the user names none: the latest run of the name last recorded in this
/// repository or a directory above it; outside of repositories, the latest run of all. Runs with a
/// key in `without` do not count, but their name does. Throws NotFound if there is none.
store::Run default_run(const store::Catalog& catalog, std::span<const std::string> without = {});

/// All ranks of the group of `run`, in order; only `run` itself if it has no ranks.
std::vector<store::Run> ranks_with(const store::Catalog& catalog, const store::Run& run);
/// Makes `run`, one rank, represent its whole group: the state and the bytes of all ranks together,
/// and the message of the first rank that has one.
void stand_for_group(const store::Catalog& catalog, store::Run& run);

/// The first digits of the key, by which users name a run.
std::string short_key(const store::Run& run);
/// Key and experiment, "3f2a91c4 (linear)", safe to print.
std::string title(const store::Run& run);
/// The first digits of the commit, or "-" if there is none.
std::string short_commit(std::string_view commit);

}  // namespace flor::ask
