// Checkpoints as users name them, wherever one can be named: RUN@12, RUN@NAME of a saved one,
// RUN@latest, RUN@best, RUN@best:loss:min.
#pragma once

#include <flor/store/catalog.h>
#include <flor/store/ranking.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flor::store {

class Store;

/// A metric, and which of its values are good.
struct BestBy {
  std::string metric;
  ScoreOrder order = ScoreOrder::max;
};
/// Reads METRIC:min or METRIC:max, as `flor keep --best` has it, too; the metric's name may hold
/// colons itself. Nothing for anything else.
std::optional<BestBy> parse_best_by(std::string_view text);

/// The text before the '@' of RUN@PLACE; the whole text where nothing looks like a place.
std::string_view run_of_spec(std::string_view text);

/// A run as a text names it, and what the text has after the '@'.
struct RunAndPlace {
  Run run;
  std::string place;  ///< empty: the whole text names the run
};
using ResolveRun = std::function<Run(std::string_view)>;
/// A name of a run wins that has an '@' itself, unless a number stands after it. Throws what
/// `resolve` does.
RunAndPlace run_and_place(std::string_view text, const ResolveRun& resolve);

/// A place in a run: the state after an epoch, or a checkpoint that the program saved.
struct ChosenPlace {
  std::optional<std::int64_t> epoch;
  std::string saved = {};  ///< its name; empty after an epoch
};
/// Finds what stands after the '@': the number of an epoch, whether it is stored or not; the name
/// of a saved checkpoint; "latest", the newest epoch that is stored; "best", what
/// `flor::best_checkpoint` is by the run's strategy; "best:METRIC:min" and "best:METRIC:max". A
/// saved checkpoint may be called "best" or "latest", and is meant then. Throws NotFound where
/// there is no such checkpoint, and UsageError where nothing says what is best, each with the next
/// command.
ChosenPlace find_place(const Store& store, const Run& run, std::string_view place);

}  // namespace flor::store
