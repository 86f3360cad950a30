// Which checkpoints of a run are kept, and checkpoints at moments that the program chooses.
#pragma once

#include <flor/session.h>
#include <flor/state.h>
#include <flor/store/ranking.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flor {

/// Whether small or large scores are good.
using store::ScoreOrder;
/// Which of two checkpoints with equal scores ranks higher.
using store::Tie;

/// The checkpoints that a run keeps, given to `Session::keep`:
///
///   session.keep({.num_to_keep = 2, .score_attribute = "loss", .score_order =
///   flor::ScoreOrder::min});
///
/// - `num_to_keep`: how many epochs, and how many saved checkpoints, each counted separately;
///   at least 1. Omitted: all of them, but the strategy still defines `best_checkpoint`.
/// - `score_attribute`: name of a logged number, or of a score of `save_checkpoint`. Empty: newer
///   ones rank higher. A score that is missing, NaN or no number ranks worst; one that comes later,
///   from a replay too, ranks its checkpoint anew.
/// - `score_order`: max (the default) or min. `tie`: older (the default) or newer.
///
/// The best is never deleted. Nor is the latest while the run may still be resumed, so that there
/// may be one more than asked for; once the run has finished it ranks like the others. Deleted
/// checkpoints can be brought back until `flor gc` (docs/checkpoints.md), and replays compute them
/// again.
using store::CheckpointStrategy;

/// A number by which a checkpoint ranks.
struct MetricScore {
  /// The score of a metric, from any number.
  template <typename Number>
  requires std::is_arithmetic_v<Number> MetricScore(std::string_view metric, Number score)
      : name(metric), value(static_cast<double>(score)) {}

  std::string_view name;  ///< of the metric
  double value;           ///< NaN ranks worst
};

/// A stored checkpoint of a run.
struct Checkpoint {
  std::string run;              ///< key of the run; empty: there is none
  std::int64_t epoch = -1;      ///< the state after this epoch; -1 of a saved one
  std::string name;             ///< of a saved one
  std::optional<double> score;  ///< by the strategy; of one just saved always empty

  explicit operator bool() const { return !run.empty(); }  ///< true if there is one
  /// "0123456789abcdef@12" or "0123456789abcdef@s3", as `flor export` and `flor show` take it.
  std::string address() const;
};

namespace detail {

std::map<std::string, double> map_of(std::initializer_list<MetricScore> scores);
/// `name` may be empty. No `objects`: all that is registered, and the attached locals.
Checkpoint save_checkpoint(std::string_view name, const std::map<std::string, double>& scores,
                           std::vector<Slot> objects);

}  // namespace detail

/// Takes a checkpoint of all that is registered now, and of the variables that flor::with attached
/// to the nested loop that is being executed; in addition to Flor's own checkpoints, and at any
/// moment. It is durable when the run ends, or with the next call of `best_checkpoint` or
/// `latest_checkpoint`. Costs the training thread as much as a checkpoint at the end of an epoch.
///
/// Named `s1`, `s2`, ... in the order in which they are taken, or `name`: letters, digits, '.', '_'
/// and '-', the first one a letter. One of the same name replaces the one before. `scores` are the
/// scores to rank by; any other is looked up in the values logged at its place, else in its epoch.
///
/// While recording only; a replay compares the state with the recorded one, and otherwise nothing
/// is done. Belongs to the thread that called flor::init. Throws UsageError for a wrong name or
/// thread; a checkpoint that cannot be stored is reported like any other, and the training goes on.
Checkpoint save_checkpoint(std::initializer_list<MetricScore> scores = {});
Checkpoint save_checkpoint(std::string_view name, std::initializer_list<MetricScore> scores = {});

/// The same of these objects alone, whether they are registered or not:
///
///   flor::save_checkpoint("weights", {{"loss", loss}}, net);
///   flor::save_checkpoint("deploy", {}, net, flor::named("words", vocabulary));
///
/// They are named as by `flor::load`, which puts them back: by their order within their kind, or by
/// `flor::named`. Refers to them only during the call.
template <typename First, typename... Rest>
Checkpoint save_checkpoint(std::string_view name, std::initializer_list<MetricScore> scores,
                           First&& first, Rest&&... rest) {
  std::vector<detail::Slot> objects;
  objects.reserve(1 + sizeof...(rest));
  objects.push_back(detail::slot_of(std::forward<First>(first)));
  (objects.push_back(detail::slot_of(std::forward<Rest>(rest))), ...);
  return detail::save_checkpoint(name, detail::map_of(scores), std::move(objects));
}

/// Adds scores that are known only later.
void score_checkpoint(const Checkpoint& saved, std::initializer_list<MetricScore> scores);

/// The stored checkpoint of this run with the best score by its strategy, of the saved ones if
/// there are any, else of the epochs; without a `score_attribute` the newest. Waits until the
/// checkpoints taken so far are durable. Nothing if none is stored, or no session is open. In a
/// replay: of the whole recorded run. A rank finds checkpoints that it has stored itself, ranked by
/// the values that rank 0 has logged so far.
std::optional<Checkpoint> best_checkpoint();
/// The newest one, likewise.
std::optional<Checkpoint> latest_checkpoint();

}  // namespace flor
