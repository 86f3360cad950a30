// Accounts for the time that recording takes from a program, by purpose.
#pragma once

#include "schedule/adaptive.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace flor::detail {

/// How many cores this process may use, by its CPU affinity and the CPU quota of its control group.
double usable_cores();

/// The cost of one second of CPU time of a background thread costs a training that keeps
/// `busy_cores` busy, in seconds. It is 1 without a spare core. With one it is less, but not 0,
/// because of shared resources such as memory bandwidth.
double background_share(double busy_cores, double cores);

/// Checkpoints whose cost is counted together: those of one iteration, or a single one.
struct Batch {
  enum class Kind : std::uint8_t {
    chosen,  ///< an iteration chosen by the policy: its budget pays
    forced,  ///< an iteration that is stored in any case
    single,  ///< a forced checkpoint outside of iterations: entry or end of a loop
  };
  Kind kind = Kind::chosen;
  IterationCost cost;
  int unfinished = 0;   ///< number of jobs of the background thread
  bool closed = false;  ///< no further checkpoint will be added
};

/// Seconds of the training thread count in full. CPU time of the background counts by
/// background_share() of the interval in which it was used. Thread-safe.
class Ledger {
 public:
  struct Totals {
    double cost = 0;    ///< paid by the budget: chosen iterations, logging, progress
    double forced = 0;  ///< cost of forced checkpoints
    double background =
        0;  ///< the part of both that the background took while the program computed
  };

  Ledger();

  // For the training thread.
  std::shared_ptr<Batch> open(Batch::Kind kind);
  /// Notes that a checkpoint of `bytes` bytes was taken in `seconds`, and that a job for it will be
  /// posted.
  void taken(Batch& batch, double seconds, std::uint64_t bytes);
  /// Notes that the training thread spent time on something that the budget pays.
  void spent(double seconds);
  /// Ends a batch: no checkpoint will be added to it. Null does nothing.
  void close(const std::shared_ptr<Batch>& batch);
  IterationCost cost_of(const Batch& batch) const;  ///< the cost so far
  /// The batches that are closed and whose jobs are done. Each is returned once.
  std::vector<std::shared_ptr<const Batch>> finished();
  /// Notes that from now on the program only waits for the background.
  void drain();

  // For the background thread. `cpu` is the CPU time of all background threads so far, in seconds.
  void job_begins(double cpu);
  void job_ends(double cpu, const std::shared_ptr<Batch>& batch);
  /// Notes the end of the work that is done once, when recording begins.
  void setup_ends(double cpu);

  Totals totals() const;

 private:
  /// Charges the CPU time that the background has used since the last call, and returns the charge.
  double charge(double cpu, bool forced);
  void file(const std::shared_ptr<Batch>& batch);

  const double cores_;
  mutable std::mutex mutex_;
  Totals totals_;
  double last_wall_, last_process_, last_background_ = 0;
  bool draining_ = false;
  std::vector<std::shared_ptr<const Batch>> finished_;
};

}  // namespace flor::detail
