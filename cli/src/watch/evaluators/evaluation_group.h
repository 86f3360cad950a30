// The workers of one evaluator, wherever they run: as the coordinator of a watch sees them.
#pragma once

#include "queue/jobs.h"
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

/// Where the output of an attempt is kept.
std::filesystem::path job_log(const store::Store& store, const store::Lease& lease);
/// The same below a directory of logs.
std::filesystem::path job_log(const std::filesystem::path& logs, const store::Lease& lease);
std::filesystem::path job_logs(const store::Store& store);

struct GroupPlan {
  EvaluatorSpec evaluator;
  std::size_t workers = 1;
  std::vector<std::string> gpus;  ///< dealt to the workers in turn, as CUDA_VISIBLE_DEVICES
  std::optional<std::chrono::milliseconds> timeout;  ///< of one evaluation
};

/// An evaluation has ended.
struct Verdict {
  store::LeasedJob job;
  bool good = false;
  std::string text;    ///< the result as JSON, or why there is none
  double seconds = 0;  ///< how long it took
};

/// Never waits for a worker, but in `stop`. Not thread-safe.
class EvaluationGroup {
 public:
  using Clock = std::chrono::steady_clock;
  using Note = std::function<void(const std::string&)>;
  using Tell = std::function<void(Verdict)>;

  virtual ~EvaluationGroup() = default;

  /// Number of the evaluator in the queue.
  virtual std::int64_t evaluator() const = 0;
  virtual void start() = 0;
  /// Adds descriptors that show by POLLIN that `hear` has something to do.
  virtual void add_descriptors(std::vector<pollfd>& waiting) const = 0;
  /// When `hear` has something to do without these.
  virtual Clock::time_point due() const = 0;
  /// Passes on each verdict at once. Throws Error if the evaluator cannot be loaded.
  virtual void hear(const Tell& tell) = 0;

  /// How many jobs it could take, some of them ahead of their turn.
  virtual std::size_t wanted() const = 0;
  virtual void give(store::LeasedJob job) = 0;
  /// Gives jobs to free workers.
  virtual void dispatch() = 0;

  /// Leases of all given jobs that have no verdict.
  virtual std::vector<store::Lease> leases() const = 0;
  /// Removes and returns jobs that no worker has begun.
  virtual std::vector<store::Lease> take_waiting() = 0;
  /// Drops a job that was cancelled, dropped or taken over: there will be no verdict.
  virtual void call_off(const store::Lease& lease) = 0;
  /// Whether it is known that the evaluator can be loaded, or it will not be tried as long as there
  /// is nothing to judge.
  virtual bool is_ready() const = 0;
  /// Ends the workers and their jobs.
  virtual void stop() = 0;
};

}  // namespace flor::cli
