// Which checkpoints of a run are kept, and how a program takes a checkpoint when it wants one.
#pragma once

#include <flor/session.h>
#include <flor/state.h>
#include <flor/store/keep_rules.h>

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

/// Whether higher or lower scores are better.
using store::ScoreOrder;
/// Which of two checkpoints with equal scores ranks higher.
using store::Tie;

/// The checkpoints that a run keeps, given to `Session::keep`:
///
///   session.keep({.num_to_keep = 2, .score_attribute = "loss", .score_order =
///   flor::ScoreOrder::min});
///
/// - `num_to_keep`: how many checkpoints of epochs are kept, and how many saved checkpoints; each
///   kind is counted separately. At least 1. Omitted: all are kept, and the strategy only says
///   which is `best_checkpoint`.
/// - `score_attribute`: the name of a logged number, or of a score given to `save_checkpoint`.
///   Empty: the newer a checkpoint, the higher it ranks. A score that is missing, NaN or not a
///   number ranks worst. A score that arrives later, even from a replay, changes the rank.
/// - `score_order`: max (the default) or min. `tie`: which of two checkpoints with equal scores
///   ranks higher, the older (the default) or the newer.
///
/// The best checkpoint is never deleted. The latest is not deleted either while the run may still
/// be resumed, so there may be one more than asked for; when the run has finished, it ranks like
/// the others. A deleted checkpoint can be brought back until `flor gc` (docs/checkpoints.md), and
/// a replay computes it again.
using store::CheckpointStrategy;

/// A score given to `save_checkpoint`, by which the checkpoint ranks.
struct MetricScore {
  /// Takes a number of any arithmetic type.
  template <typename Number>
  requires std::is_arithmetic_v<Number> MetricScore(std::string_view metric, Number score)
      : name(metric), value(static_cast<double>(score)) {}

  std::string_view name;  ///< the name of the score
  double value;           ///< NaN ranks worst
};

/// A stored checkpoint of a run.
struct Checkpoint {
  std::string run;          ///< key of the run; empty: there is no checkpoint
  std::int64_t epoch = -1;  ///< the state after this epoch; -1 for a saved checkpoint
  std::string name;         ///< name of a saved checkpoint, else empty
  /// The score that the strategy ranks by; empty in what `save_checkpoint` and `flor::load` return.
  std::optional<double> score;

  explicit operator bool() const { return !run.empty(); }  ///< true if there is one
  /// "0123456789abcdef@12" or "0123456789abcdef@s3", as `flor export` and `flor show` take it.
  std::string address() const;
};

namespace detail {

std::map<std::string, double> map_of(std::initializer_list<MetricScore> scores);
/// Takes a checkpoint of `objects`; if there are none, of all registered objects and of the locals
/// attached to the nested loop. An empty `name` means the next of `s1`, `s2`, ...
Checkpoint save_checkpoint(std::string_view name, const std::map<std::string, double>& scores,
                           std::vector<Slot> objects);

}  // namespace detail

/// Takes a checkpoint at any moment, in addition to those that Flor takes by itself: of all
/// registered objects, and of the variables that flor::with attached to the nested loop being
/// executed. It is durable when the run ends, or at the next call of `best_checkpoint` or
/// `latest_checkpoint`. Costs the training thread as much as a checkpoint at the end of an epoch.
///
/// The name is `name` (letters, digits, '.', '_' and '-', the first one a letter), or `s1`, `s2`,
/// ... in the order in which they are taken. A later checkpoint of the same name replaces the
/// earlier one. `scores` are numbers to rank by; a score that is not given is looked up among the
/// values logged at the same place in the loops, then among those of the epoch.
///
/// Takes a checkpoint only while recording. A replay compares the state with the recorded one;
/// without a session nothing is done. To be called on the thread that called flor::init. Throws
/// UsageError for a wrong name or thread. A checkpoint that cannot be stored is reported like any
/// other, and the training goes on.
Checkpoint save_checkpoint(std::initializer_list<MetricScore> scores = {});
Checkpoint save_checkpoint(std::string_view name, std::initializer_list<MetricScore> scores = {});

/// Takes a checkpoint of the given objects only, whether they are registered or not:
///
///   flor::save_checkpoint("weights", {{"loss", loss}}, net);
///   flor::save_checkpoint("deploy", {}, net, flor::named("words", vocabulary));
///
/// Objects are named as for `flor::load`, which restores them: by their order within their kind, or
/// by `flor::named`. Keeps no reference to them after the call.
template <typename First, typename... Rest>
Checkpoint save_checkpoint(std::string_view name, std::initializer_list<MetricScore> scores,
                           First&& first, Rest&&... rest) {
  std::vector<detail::Slot> objects;
  objects.reserve(1 + sizeof...(rest));
  objects.push_back(detail::slot_of(std::forward<First>(first)));
  (objects.push_back(detail::slot_of(std::forward<Rest>(rest))), ...);
  return detail::save_checkpoint(name, detail::map_of(scores), std::move(objects));
}

/// Adds scores to a saved checkpoint, for scores that are known only later.
void score_checkpoint(const Checkpoint& saved, std::initializer_list<MetricScore> scores);

/// The checkpoint of this run with the best score by its strategy, or the newest if the strategy
/// has no `score_attribute`. Chosen among the saved checkpoints if there are any, else among those
/// of epochs. Waits until the checkpoints taken so far are durable. Returns nothing if none is
/// stored, or no session is open. In a replay the whole recorded run counts. A rank chooses among
/// the checkpoints that it has stored itself, ranked by the values that rank 0 has logged so far.
std::optional<Checkpoint> best_checkpoint();
/// The newest checkpoint of this run, chosen among the same ones as by `best_checkpoint`.
std::optional<Checkpoint> latest_checkpoint();

}  // namespace flor
