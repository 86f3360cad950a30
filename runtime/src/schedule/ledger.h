// The time that recording takes from a program, by purpose.
#pragma once

#include "schedule/adaptive.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace flor::detail {

/// How many cores this process may use: its affinity, and the quota of its control group.
double usable_cores();

/// The cost to a training that keeps `busy_cores` busy of a second of CPU time of a background
/// thread: a second without a spare core; with one still the memory bandwidth and other shared
/// resources.
double background_share(double busy_cores, double cores);

/// Checkpoints that belong together: those of one iteration, or a single one.
struct Batch {
  enum class Kind : std::uint8_t {
    chosen,  ///< an iteration that the policy chose: the tolerance pays for it
    forced,  ///< an iteration that is stored in any case
    single,  ///< a forced checkpoint outside any iteration: the entry of a loop, its end
  };
  Kind kind = Kind::chosen;
  IterationCost cost;
  int unfinished = 0;   ///< jobs of the background thread
  bool closed = false;  ///< no checkpoint will be added
};

/// Seconds of the training thread count in full, CPU time of the background by the share of the
/// interval in which it was used. Thread-safe.
class Ledger {
 public:
  struct Totals {
    double cost = 0;    ///< paid for by the tolerance: chosen iterations, logs, progress
    double forced = 0;  ///< of forced checkpoints
    double background =
        0;  ///< the part of both that the background took while the program computed
  };

  Ledger();

  // On the training thread.
  std::shared_ptr<Batch> open(Batch::Kind kind);
  /// A checkpoint of `bytes` was taken in `seconds`; a job for it is going to be posted.
  void taken(Batch& batch, double seconds, std::uint64_t bytes);
  /// The training thread spent time on something that the tolerance pays for.
  void spent(double seconds);
  /// No checkpoint will be added to it; null does nothing.
  void close(const std::shared_ptr<Batch>& batch);
  IterationCost cost_of(const Batch& batch) const;  ///< so far
  /// Batches that were closed and whose jobs are done, each once.
  std::vector<std::shared_ptr<const Batch>> finished();
  /// From now on the program does nothing but wait for the background.
  void drain();

  // On the background thread; `cpu` is the time that all threads of the background have used so
  // far.
  void job_begins(double cpu);
  void job_ends(double cpu, const std::shared_ptr<Batch>& batch);
  /// The same for work that is done once, when recording begins.
  void setup_ends(double cpu);

  Totals totals() const;

 private:
  /// Charges the time that the background used since the last call.
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
