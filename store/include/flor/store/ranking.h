// Which checkpoints of a run are worth keeping: scores in, decisions with their reasons out. Pure
// functions: they know neither the catalog nor a disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {

/// Whether small or large scores are good. The values are on disk: append only.
enum class ScoreOrder : std::uint8_t { min = 0, max = 1 };
std::string_view to_string(ScoreOrder order);

/// Which of two checkpoints with equal scores ranks higher. The values are on disk: append only.
enum class Tie : std::uint8_t { older = 0, newer = 1 };

/// A score as far as it is known. NaN is a score, and a bad one.
using Score = std::optional<double>;

/// The checkpoints that a session keeps of its own run (documented in flor/checkpoint_strategy.h).
struct CheckpointStrategy {
  /// How many checkpoints are kept; absent: all of them.
  std::optional<std::int64_t> num_to_keep = {};
  /// Name of the logged number by which they rank; empty: newer ones rank higher.
  std::string score_attribute = {};
  ScoreOrder score_order = ScoreOrder::max;
  Tie tie = Tie::older;
  bool operator==(const CheckpointStrategy&) const = default;
};

struct BestRule {
  std::int64_t count = 1;
  std::string metric;
  ScoreOrder order = ScoreOrder::max;
  /// The user did not ask for it: it only determines the best, which must not be lost.
  bool implied = false;
  bool operator==(const BestRule&) const = default;
};

/// The checkpoints to keep: all that at least one of the rules keeps.
struct KeepRules {
  std::optional<std::int64_t> last = {};   ///< the newest ones
  std::optional<std::int64_t> every = {};  ///< each N-th epoch: N-1, 2N-1, ...
  std::vector<BestRule> best = {};
  bool unscored = false;  ///< those that have no score yet for one of `best`
  /// Bytes: if the kept checkpoints take more, the worst of them are deleted, too.
  std::optional<std::uint64_t> under = {};
  Tie tie = Tie::older;

  bool empty() const { return !last && !every && best.empty() && !under; }
};

/// The same as rules. Throws UsageError if `num_to_keep` is not positive.
KeepRules rules_of(const CheckpointStrategy& strategy);
/// Throws UsageError if there is no rule, or one that asks for less than one checkpoint.
void check_rules(const KeepRules& rules);

/// The unit that is kept or deleted: the checkpoints of an epoch, or one that a program saved.
struct Candidate {
  /// Rules count within a group.
  enum class Group : std::uint8_t { epoch, saved };
  Group group = Group::epoch;
  std::int64_t number = 0;  ///< epoch, counted from 0; or the number of the saved one, from 1
  bool needed = false;      ///< a run that may go on could not do without it
  bool awaited = false;     ///< an evaluator has yet to score it
  std::vector<Score> scores = {};  ///< one for each of KeepRules::best
};

/// Why a checkpoint is kept.
struct Reason {
  enum class Rule : std::uint8_t {
    last,
    best,  ///< one of the best N
    every,
    unscored,  ///< has no score yet
    resume,    ///< the run may be resumed there
    newest,    ///< no rule defines the best: the newest one counts as the best
    awaited,   ///< an evaluator has yet to score it
  };
  Rule rule = Rule::last;
  std::size_t best = 0;   ///< Rule::best, Rule::unscored: index into KeepRules::best
  std::int64_t rank = 0;  ///< Rule::best: 1 for the best
  bool operator==(const Reason&) const = default;
};

struct Decision {
  bool kept = false;
  bool over = false;  ///< a rule kept it, but there was no room for it under KeepRules::under
  std::vector<Reason> reasons;  ///< why it is kept; of one that is `over`, why it would have been
  std::vector<std::int64_t> ranks;  ///< by KeepRules::best: 1 for the best of its group
};

/// Weighs the remaining candidates. Begins with all of them.
class Weigher {
 public:
  virtual ~Weigher() = default;
  virtual std::uint64_t bytes() const = 0;
  virtual void drop(std::size_t candidate) = 0;
};

struct Decisions {
  std::vector<Decision> by_candidate;
  bool fits = true;  ///< false: the candidates that must stay take more than KeepRules::under
};

/// Decides over the candidates of one run, given in the order of time, oldest first. Numbers rank
/// before missing scores, and these before NaN; ties as `rules.tie` says. Needed and awaited
/// candidates stay, whatever `under` says; so does the best by each rule of `best`, and without
/// such rules the newest. `weigher` may be null if `under` is absent; afterwards it has dropped the
/// candidates that are not kept. O(n log n).
Decisions decide(std::span<const Candidate> candidates, const KeepRules& rules, Weigher* weigher);

/// Indices into `scores`, which are in the order of time, from the best to the worst.
std::vector<std::size_t> ranking(std::span<const Score> scores, ScoreOrder order, Tie tie);

}  // namespace flor::store
