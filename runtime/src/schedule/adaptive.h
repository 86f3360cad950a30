// The policy that decides which iterations are stored. Pure: no clocks and no threads; the recorder
// passes in what it measures.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>

namespace flor::detail {

/// The cost of storing the checkpoints of one iteration, in seconds.
struct IterationCost {
  double training = 0;    ///< of the training thread: copying, comparing, waiting
  double background = 0;  ///< CPU time of the background threads
  /// `training`, and the time that the background work took from the training.
  double charged = 0;
  std::uint64_t bytes = 0;
};

/// The state of a recording when an iteration has to be decided about.
struct Situation {
  double computed = 0;  ///< computing in all main loops so far, in seconds, without Flor
  /// Seconds that recording has taken so far, without forced checkpoints.
  double cost = 0;
  /// Iterations of this main loop after the present one, if their number is known.
  std::optional<std::int64_t> remaining = {};
  bool writing = false;     ///< checkpoints of an earlier iteration are still being written
  std::uint64_t bytes = 0;  ///< size of the present state; 0: not measured
};

struct Choice {
  store::StorageReason reason = store::StorageReason::budget;
  bool stored() const { return reason == store::StorageReason::worthwhile; }
};

/// Decides about iterations that nothing forces. An iteration is stored if all of these conditions
/// hold:
///
/// - *budget*: the cost so far, plus the most that this iteration can cost, is at most epsilon of
///   the computing time so far. Its background work counts in full, since the program may end and
///   wait for it.
/// - *gain*: M/C < n/(k+1) * min(1/(1+c), epsilon), for n iterations and k stored ones so far. That
///   is, storing costs less than replays save. See materialization() for M, computation() for C and
///   restore_factor() for c.
/// - *spread*: what the budget permits for the rest of the loop (or, if its length is unknown, for
///   as long again) is spread evenly over it. Otherwise savings from cheap times would all be spent
///   in one place. Gaps of equal computing time make the expected re-execution shortest.
/// - *late*: nothing of an earlier iteration is still being written.
class Adaptive {
 public:
  /// `epsilon` is the fraction of the computing time that recording may take, at least 0.
  explicit Adaptive(double epsilon) : epsilon_(epsilon) {}

  /// Adds the measured cost of an iteration that this policy chose to store.
  void add(const IterationCost& cost);
  /// Adds the measured cost of a forced checkpoint, that is, one at the entry of a main loop. It is
  /// the first estimate for an iteration with `checkpoints` of them, until a stored iteration has
  /// been measured.
  void estimate(const IterationCost& checkpoint, std::int64_t checkpoints);
  /// Sets how fast checkpoints are restored, in bytes per second. With M this gives c.
  void set_restore_rate(double bytes_per_second) { restore_rate_ = bytes_per_second; }

  /// Whether the cost of an iteration's checkpoints is known, at least roughly.
  bool knows_cost() const { return estimated_; }
  Choice decide(const Situation& now) const;

  /// Called when an iteration is stored, and when one ends. `computed` is as in Situation.
  void stored(double computed);
  void completed(double computed);

  double epsilon() const { return epsilon_; }
  std::int64_t iterations() const { return iterations_; }
  std::int64_t stored_iterations() const { return stored_; }
  /// M: seconds that storing an iteration with `bytes` of state takes from the training.
  double materialization(std::uint64_t bytes = 0) const;
  /// C: seconds of computing per iteration.
  double computation() const;
  /// c: restoring takes c * M seconds.
  double restore_factor(std::uint64_t bytes = 0) const;

 private:
  struct Mean {
    double mean = 0, last = 0;
    void add(double value, bool first);
    double expected() const;
  };
  double growth(std::uint64_t bytes) const;
  double worst_case(std::uint64_t bytes) const;
  bool spread_out(const Situation& now) const;

  double epsilon_;
  Mean charged_, whole_, bytes_;  // of the stored iterations, latest weighing most
  bool estimated_ = false;        // there is an estimate of the cost
  bool measured_ = false;         // the estimate was measured on a stored iteration
  double restore_rate_ = 1.5e9;   // until measured: two threads at usual difference depth
  std::int64_t iterations_ = 0, stored_ = 0;
  double computed_at_end_ = 0;     // at the end of the last iteration
  double computed_at_stored_ = 0;  // when an iteration was last stored
  double recent_ = 0;              // seconds per iteration, latest weighing most
};

}  // namespace flor::detail
