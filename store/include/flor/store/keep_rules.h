// Decides which checkpoints of a run are kept, from their scores, with a reason for each. Pure
// functions: they use neither the catalog nor a disk.
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

/// Whether small or large scores are good. The numbers are on disk: append only.
enum class ScoreOrder : std::uint8_t { min = 0, max = 1 };
std::string_view to_string(ScoreOrder order);

/// Which of two checkpoints with equal scores ranks higher. The numbers are on disk: append only.
enum class Tie : std::uint8_t { older = 0, newer = 1 };

/// A score, or nullopt if it is not known yet. NaN is a known score, and ranks last.
using Score = std::optional<double>;

/// The checkpoints that a session keeps of the run that it records (see
/// flor/checkpoint_strategy.h).
struct CheckpointStrategy {
  /// Number of checkpoints to keep; absent: all.
  std::optional<std::int64_t> num_to_keep = {};
  /// Name of the logged number that ranks them; empty: newer ones rank higher.
  std::string score_attribute = {};
  ScoreOrder score_order = ScoreOrder::max;
  Tie tie = Tie::older;
  bool operator==(const CheckpointStrategy&) const = default;
};

struct BestRule {
  std::int64_t count = 1;
  std::string metric;
  ScoreOrder order = ScoreOrder::max;
  /// Added by Flor, not by the user: the best by this metric is never deleted.
  bool implied = false;
  bool operator==(const BestRule&) const = default;
};

/// Which checkpoints to keep. One is kept if at least one of the rules keeps it.
struct KeepRules {
  std::optional<std::int64_t> last = {};   ///< this number of the newest ones
  std::optional<std::int64_t> every = {};  ///< each N-th epoch: N-1, 2N-1, ...
  std::vector<BestRule> best = {};
  bool unscored = false;  ///< keep checkpoints that lack a score for one of `best`
  /// Limit in bytes. If the kept checkpoints take more, the worst of them are deleted.
  std::optional<std::uint64_t> under = {};
  Tie tie = Tie::older;

  bool empty() const { return !last && !every && best.empty() && !under; }
};

/// Converts a strategy to rules. Throws UsageError if `num_to_keep` is not positive.
KeepRules rules_of(const CheckpointStrategy& strategy);
/// Throws UsageError if there is no rule, or if a rule asks for less than one checkpoint.
void check_rules(const KeepRules& rules);

/// A unit that is kept or deleted as a whole: all checkpoints of an epoch, or one saved checkpoint.
struct Candidate {
  /// Each rule is applied to each of these groups separately.
  enum class Group : std::uint8_t { epoch, saved };
  Group group = Group::epoch;
  std::int64_t number = 0;  ///< the epoch, from 0, or the number of the saved checkpoint, from 1
  bool needed = false;      ///< true if resuming the run would be impossible without it
  bool awaited = false;     ///< true if an evaluator has yet to score it
  std::vector<Score> scores = {};  ///< one for each of KeepRules::best
};

/// Why a checkpoint is kept.
struct Reason {
  enum class Rule : std::uint8_t {
    last,
    best,  ///< among the best N by a rule of `best`
    every,
    unscored,  ///< has no score yet
    resume,    ///< the run can be resumed from it
    newest,    ///< no rule defines the best, so the newest counts as the best
    awaited,   ///< an evaluator has yet to score it
  };
  Rule rule = Rule::last;
  std::size_t best = 0;   ///< Rule::best, Rule::unscored: index into KeepRules::best
  std::int64_t rank = 0;  ///< Rule::best: position, 1 for the best
  bool operator==(const Reason&) const = default;
};

struct Decision {
  bool kept = false;
  bool over = false;            ///< true if a rule keeps it, but it does not fit under the limit
                                ///< KeepRules::under
  std::vector<Reason> reasons;  ///< why it is kept, or, if `over`, would have been
  std::vector<std::int64_t> ranks;  ///< position in its group for each of KeepRules::best, 1 for
                                    ///< the best
};

/// Computes how many bytes the candidates take that have not been dropped. Initially none is
/// dropped.
class Weigher {
 public:
  virtual ~Weigher() = default;
  virtual std::uint64_t bytes() const = 0;
  virtual void drop(std::size_t candidate) = 0;
};

struct Decisions {
  std::vector<Decision> by_candidate;
  bool fits = true;  ///< false: the candidates that must be kept take more than KeepRules::under
};

/// Decides which candidates of a run are kept. They are given oldest first. Numbers rank before
/// missing scores, and missing scores before NaN; `rules.tie` orders equal ones. Always kept, even
/// beyond `under`: needed and awaited candidates, and the best by each rule of `best` (without such
/// rules, the newest). `weigher` may be null if `under` is absent; afterwards every candidate that
/// is not kept has been dropped from it. O(n log n).
Decisions decide(std::span<const Candidate> candidates, const KeepRules& rules, Weigher* weigher);

/// Returns indices into `scores` from best to worst. `scores` are given oldest first.
std::vector<std::size_t> ranking(std::span<const Score> scores, ScoreOrder order, Tie tie);

}  // namespace flor::store
