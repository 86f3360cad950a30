// The workers of one evaluator, wherever they run, as the coordinator of a watch uses them.
#pragma once

#include "queue/job_queue.h"
#include "watch/evaluators/evaluator.h"

#include <flor/store/store.h>

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The file with the output of an attempt, in the store's home.
std::filesystem::path job_log(const store::Store& store, const store::Lease& lease);
/// The same file below another directory of logs.
std::filesystem::path job_log(const std::filesystem::path& logs, const store::Lease& lease);
std::filesystem::path job_logs(const store::Store& store);

struct GroupPlan {
  EvaluatorSpec evaluator;
  std::size_t workers = 1;
  std::vector<std::string> gpus;  ///< assigned to the workers in turn, as CUDA_VISIBLE_DEVICES
  std::optional<std::chrono::milliseconds> timeout;  ///< longest time for one evaluation; nullopt:
                                                     ///< no limit
};

/// The end of an evaluation.
struct Verdict {
  store::LeasedJob job;
  bool good = false;
  std::string text;    ///< the result as JSON, or the reason why there is none
  double seconds = 0;  ///< duration of the evaluation
};

/// No function waits for a worker, except `stop`. Not thread-safe.
class EvaluationGroup {
 public:
  using Clock = std::chrono::steady_clock;
  using Note = std::function<void(const std::string&)>;
  using Tell = std::function<void(Verdict)>;

  virtual ~EvaluationGroup() = default;

  /// The evaluator's id in the queue.
  virtual std::int64_t evaluator() const = 0;
  virtual void start() = 0;
  /// Adds descriptors to poll: POLLIN on one of them means that `hear` has work.
  virtual void add_descriptors(std::vector<pollfd>& waiting) const = 0;
  /// The time at which `hear` has work even if no descriptor is ready.
  virtual Clock::time_point due() const = 0;
  /// Handles messages of the workers, and calls `tell` with each verdict at once. Throws Error if
  /// the evaluator cannot be loaded.
  virtual void hear(const Tell& tell) = 0;

  /// The number of further jobs that the group could take, including some to wait for a free
  /// worker.
  virtual std::size_t wanted() const = 0;
  virtual void give(store::LeasedJob job) = 0;
  /// Gives waiting jobs to free workers.
  virtual void dispatch() = 0;

  /// The leases of all jobs that were given and have no verdict yet.
  virtual std::vector<store::Lease> leases() const = 0;
  /// Removes and returns the jobs that no worker has begun.
  virtual std::vector<store::Lease> take_waiting() = 0;
  /// Stops a job that was cancelled, dropped or taken over; it gets no verdict.
  virtual void call_off(const store::Lease& lease) = 0;
  /// Whether the evaluator is known to be loadable. Also true for a group that loads it only when
  /// there is a job.
  virtual bool is_ready() const = 0;
  /// Ends the workers and the jobs they are doing.
  virtual void stop() = 0;
};

}  // namespace flor::cli
