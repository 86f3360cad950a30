// The workers of one evaluator: which of them is at which job, and what came out.
#pragma once

#include "watch/evaluator.h"
#include "watch/evaluator_process.h"

#include <flor/store/jobs.h>
#include <flor/store/store.h>

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// Where what an attempt wrote is kept.
std::filesystem::path job_log(const store::Store& store, const store::Lease& lease);
/// Of what an attempt writes so much is kept, and then the end of it.
inline constexpr std::uintmax_t kLogLimit = 64 << 20;  // bytes

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
  double seconds = 0;  ///< that it took
};

/// Never waits for a worker. Not thread-safe.
class WorkerGroup {
 public:
  using Clock = std::chrono::steady_clock;
  using Note = std::function<void(const std::string&)>;

  /// `evaluator`: its number in the queue. The store must outlive it.
  WorkerGroup(GroupPlan plan, std::int64_t evaluator, const store::Store& store, Note note);

  std::int64_t evaluator() const { return evaluator_; }
  void start();
  /// What shows by POLLIN that there is something to hear.
  void add_descriptors(std::vector<pollfd>& waiting) const;
  /// When `hear` has something to do without that.
  Clock::time_point due() const;
  /// Throws Error if the evaluator cannot be loaded.
  std::vector<Verdict> hear();

  /// How many jobs it could take, some of them ahead of their turn.
  std::size_t wanted() const;
  void give(store::LeasedJob job) { backlog_.push_back(std::move(job)); }
  /// Lets free workers begin.
  void dispatch();

  /// Of all jobs that were given and have no verdict.
  std::vector<store::Lease> leases() const;
  /// Jobs that no worker has begun: they are not its own any more.
  std::vector<store::Lease> take_waiting();
  /// Somebody has cancelled or dropped the job, or taken it over: there will be no verdict.
  void call_off(const store::Lease& lease);
  /// Every worker is at a job or waits for one.
  bool is_ready() const;
  /// Ends the workers and what they are at.
  void stop();

 private:
  struct Slot {
    std::unique_ptr<EvaluatorProcess> process;
    EvaluatorProcess::Environment environment;
    bool is_ready = false;
    std::optional<store::LeasedJob> job;
    Clock::time_point began;
  };

  void hear(Slot& slot, const EvaluatorProcess::Answer& answer, std::vector<Verdict>& verdicts);
  Verdict end(Slot& slot, bool good, std::string text);
  void restart(Slot& slot);
  void end_overdue(std::vector<Verdict>& verdicts);
  void limit_logs();

  GroupPlan plan_;
  std::int64_t evaluator_;
  const store::Store& store_;
  Note note_;
  EvaluatorProcesses processes_;
  std::vector<Slot> slots_;
  std::deque<store::LeasedJob> backlog_;
  std::optional<double> mean_seconds_;  // of the latest evaluations
  Clock::time_point next_limit_;
  std::size_t deaths_before_ready_ = 0;
};

}  // namespace flor::cli
