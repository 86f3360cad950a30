// Which iterations are stored. Pure: no clocks and no threads; the recorder feeds it measurements.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>

namespace flor::detail {

/// The cost of storing the checkpoints of one iteration, in seconds.
struct IterationCost {
  double training = 0;    ///< of the training thread: copying, comparing, waiting
  double background = 0;  ///< CPU time of the background threads
  double charged = 0;     ///< `training` and time that the background work took from the training
  std::uint64_t bytes = 0;
};

/// Where a recording stands when it has to be decided about an iteration.
struct Situation {
  double computed = 0;  ///< seconds of computing in all main loops so far, without Flor
  double cost = 0;      ///< seconds that recording took so far, forced checkpoints not counted
  /// Iterations of this main loop after the present one, if their number is known.
  std::optional<std::int64_t> remaining = {};
  bool writing = false;     ///< checkpoints of an earlier iteration are still being written
  std::uint64_t bytes = 0;  ///< of the state now; 0: not measured
};

struct Choice {
  store::StorageReason reason = store::StorageReason::budget;
  bool stored() const { return reason == store::StorageReason::worthwhile; }
};

/// Decides about iterations that nothing forces. One is stored if all of these hold:
///
/// - *budget*: the cost so far and all that this iteration can take, its background work counted
///   in full, since the program may end and wait for it, stay within epsilon of the computing so
///   far;
/// - *gain*: M/C < n/(k+1) * min(1/(1+c), epsilon), n iterations and k stored ones so far: storing
///   costs less than replays save;
/// - *spread*: what the budget allows for the rest of the loop, or for as long again where its
///   length is not known, is spread evenly over it, so that savings from cheap times are not spent
///   in one place. With gaps of equal computing time the expected re-execution is least;
/// - *late*: nothing of an earlier iteration is still being written.
class Adaptive {
 public:
  /// `epsilon`: share of the computing time that recording may take, at least 0.
  explicit Adaptive(double epsilon) : epsilon_(epsilon) {}

  /// Measured continuously: the cost of an iteration that was stored by a decision of this policy.
  void add(const IterationCost& cost);
  /// A forced checkpoint, that is, one of the entry of a main loop, was measured: the first
  /// estimate of an iteration with `checkpoints` of them, until there is a better one.
  void estimate(const IterationCost& checkpoint, std::int64_t checkpoints);
  /// Restoring `bytes_per_second`: gives c together with M.
  void set_restore_rate(double bytes_per_second) { restore_rate_ = bytes_per_second; }

  /// Whether the cost of an iteration's checkpoints is known at least roughly.
  bool knows_cost() const { return estimated_; }
  Choice decide(const Situation& now) const;

  /// An iteration is stored, and ends; `computed` as in Situation.
  void stored(double computed);
  void completed(double computed);

  double epsilon() const { return epsilon_; }
  std::int64_t iterations() const { return iterations_; }
  std::int64_t stored_iterations() const { return stored_; }
  /// M: seconds that storing an iteration with `bytes` of state takes from the training.
  double materialization(std::uint64_t bytes = 0) const;
  /// C: seconds of computing in an iteration.
  double computation() const;
  /// c: restoring takes c * M.
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
  Mean charged_, whole_, bytes_;  // of the stored iterations, the latest weighing most
  bool estimated_ = false;        // there is an estimate
  bool measured_ = false;         // and it was measured on an iteration
  double restore_rate_ = 1.5e9;   // until measured: two threads, at the usual depth of differences
  std::int64_t iterations_ = 0, stored_ = 0;
  double computed_at_end_ = 0;     // of the last iteration
  double computed_at_stored_ = 0;  // when an iteration was stored last
  double recent_ = 0;              // computing seconds of the latest iterations
};

}  // namespace flor::detail
