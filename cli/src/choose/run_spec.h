// Runs and epochs as people write them: RUN, RUN@EPOCH, RUN@best, A..B.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

class Context;

/// Epochs, both ends included, 0-based.
struct EpochRange {
  std::int64_t first = 0;
  std::int64_t last = INT64_MAX;
};

/// "3", "2..5", "2..", "..5". Throws UsageError.
EpochRange parse_epochs(std::string_view text);

struct RunChoice {
  store::Run run;
  std::optional<std::int64_t> epoch;  ///< of RUN@EPOCH, RUN@latest
  std::string saved = {};             ///< of RUN@NAME: a checkpoint that the program saved
};

/// RUN, or a checkpoint as `store::find_place` has them: RUN@latest and RUN@best become the epoch,
/// or the saved checkpoint, that they mean. Throws NotFound with the nearest names, UsageError where
/// the text is ambiguous.
RunChoice parse_run(const store::Store& store, std::string_view text);
/// The run of such a text, whatever checkpoint of it is named.
store::Run parse_run_alone(const store::Catalog& catalog, std::string_view text);
/// Like parse_run, for commands that are about whole runs: a checkpoint is a UsageError.
store::Run parse_whole_run(const store::Catalog& catalog, std::string_view text);

/// The same for a command: prints which fetched runs are not meant, where others have their name.
RunChoice parse_run(Context& context, std::string_view text);
store::Run parse_whole_run(Context& context, std::string_view text);

/// The run that is meant when none is named: in this repository or a directory above it, the latest
/// of the name that was last used there; else the latest of all. Throws NotFound in an empty store.
store::Run default_run(const store::Catalog& catalog);

/// All ranks of the group that the run belongs to, in order; a run without ranks alone.
std::vector<store::Run> ranks_with(const store::Catalog& catalog, const store::Run& run);
/// Makes one rank represent its whole group: state and bytes of all together, and the message of
/// the first rank that has one.
void stand_for_group(const store::Catalog& catalog, store::Run& run);

/// The first digits of the key, by which people call a run.
std::string short_key(const store::Run& run);
/// "3f2a91c4 (linear)", safe to print.
std::string title(const store::Run& run);
/// The first digits of a commit, or "-".
std::string short_commit(std::string_view commit);

}  // namespace flor::cli
