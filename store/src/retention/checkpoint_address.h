// Parses how users refer to checkpoints: RUN@12, RUN@NAME for a saved one, RUN@latest, RUN@best,
// RUN@best:loss:min.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/keep_rules.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flor::store {

class Store;

/// A metric, and whether small or large values are good.
struct BestBy {
  std::string metric;
  ScoreOrder order = ScoreOrder::max;
};
/// Parses METRIC:min or METRIC:max, also for `flor keep --best`. The metric's name may contain
/// colons. Returns nullopt for any other text.
std::optional<BestBy> parse_best_by(std::string_view text);

/// Returns the text before the '@' of RUN@PLACE; the whole text if it names no place.
std::string_view run_of_spec(std::string_view text);

/// A run, and the text that followed the '@'.
struct RunAndPlace {
  Run run;
  std::string place;  ///< empty: the whole text names the run
};
using ResolveRun = std::function<Run(std::string_view)>;
/// Splits RUN@PLACE and finds the run. If the whole text is the name of a run that contains '@',
/// that run is meant, unless a number follows the '@'. Throws what `resolve` throws.
RunAndPlace run_and_place(std::string_view text, const ResolveRun& resolve);

/// A place in a run: after an epoch, or where the program saved a checkpoint.
struct ChosenPlace {
  std::optional<std::int64_t> epoch;
  std::string saved = {};  ///< name of the saved checkpoint; empty for an epoch
};
/// Finds the place for a text after '@': the number of an epoch, stored or not; the name of a saved
/// checkpoint; "latest", the newest stored epoch; "best", the same as `flor::best_checkpoint` by
/// the run's strategy; "best:METRIC:min" or "best:METRIC:max". A saved checkpoint named "best" or
/// "latest" takes precedence. Throws NotFound if there is no such checkpoint, and UsageError if
/// nothing defines the best; each message says what to do next.
ChosenPlace find_place(const Store& store, const Run& run, std::string_view place);

/// Says how the deleted checkpoint after an epoch, or at the end of its nested loop `loop`, comes
/// back: "it was deleted, `flor keep 3f2a@12 --undo` brings it back", or "computes it again" if its
/// content is gone. Empty if it was not deleted.
std::string way_back(const Catalog& catalog, const Run& run, std::int64_t epoch,
                     std::string_view loop = {});

}  // namespace flor::store
