// The workers of one evaluator on this machine: gives them jobs and collects results.
#pragma once

#include "watch/evaluators/evaluation_group.h"
#include "watch/evaluators/evaluator_process.h"

#include <deque>
#include <memory>

namespace flor::cli {

/// When a log is longer than this, what was written so far is removed.
inline constexpr std::uintmax_t kLogLimit = 64 << 20;  // bytes

class WorkerGroup final : public EvaluationGroup {
 public:
  /// `evaluator`: its id in the queue. `logs`: the directory for the output of attempts.
  WorkerGroup(GroupPlan plan, std::int64_t evaluator, std::filesystem::path logs, Note note);

  std::int64_t evaluator() const override { return evaluator_; }
  void start() override;
  void add_descriptors(std::vector<pollfd>& waiting) const override;
  Clock::time_point due() const override;
  void hear(const Tell& tell) override;
  std::size_t wanted() const override;
  void give(store::LeasedJob job) override { backlog_.push_back(std::move(job)); }
  void dispatch() override;
  std::vector<store::Lease> leases() const override;
  std::vector<store::Lease> take_waiting() override;
  void call_off(const store::Lease& lease) override;
  /// Whether every worker has a job or waits for one.
  bool is_ready() const override;
  void stop() override;

 private:
  struct Slot {
    std::unique_ptr<EvaluatorProcess> process;
    EvaluatorProcess::Environment environment;
    bool is_ready = false;
    std::optional<store::LeasedJob> job;
    Clock::time_point began;
  };

  void hear(Slot& slot, const EvaluatorProcess::Message& answer, const Tell& tell);
  void hear_last(const Tell& tell);
  Verdict end(Slot& slot, bool good, std::string text);
  void restart(Slot& slot);
  void end_overdue(const Tell& tell);
  void limit_logs();

  GroupPlan plan_;
  std::int64_t evaluator_;
  std::filesystem::path logs_;
  Note note_;
  EvaluatorProcesses processes_;
  std::vector<Slot> slots_;
  std::deque<store::LeasedJob> backlog_;
  std::optional<double> mean_seconds_;  // mean duration of the latest evaluations
  Clock::time_point next_limit_;
  std::size_t deaths_before_ready_ = 0;
};

}  // namespace flor::cli
