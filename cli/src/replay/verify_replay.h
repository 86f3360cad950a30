// Verifies the findings of this replay or an earlier one: a worker executes some of the epochs that
// were loaded, in a place that the replay no longer needs, or after the replay.
#pragma once

#include "protocol/verification.h"
#include "replay/replay_coordinator.h"
#include "replay/replay_text.h"

#include <optional>
#include <set>
#include <string>

namespace flor::cli {

class EpochVerifier final : public Beside {
 public:
  /// All arguments must outlive this object. `request.order.home` may be a snapshot of the store.
  EpochVerifier(store::Store& store, const ReplayRequest& request, Progress& progress);

  void offer(const ReplayOutcome& so_far, int worker) override;
  std::vector<int> events() const override;
  void look_after() override;

  /// Executes the epochs, unless `offer` has started that already, and waits until they are done.
  /// Stores the result and adds it to the summary.
  void conclude(const ReplayOutcome& outcome, ReplaySummary& summary);

 private:
  bool wanted() const;
  bool asked() const;
  bool is_possible(const ReplayOutcome& outcome, const ReplaySummary& summary) const;
  detail::VerifyPlan plan(const ReplayOutcome& outcome) const;
  void start(const ReplayOutcome& outcome, int worker);
  bool over() const { return !worker_; }
  bool takes_too_long() const;
  void compare(const ReplayOutcome& outcome, ReplaySummary& summary);

  store::Store& store_;
  const ReplayRequest& request_;
  Progress& progress_;
  std::set<std::string> loops_;  // names of the run's nested loops
  detail::EpochTimes times_;
  detail::VerifyPlan plan_;
  std::optional<detail::VerifierTalk> talk_;  // set once the worker was started
  std::unique_ptr<ReplayProcess> worker_;     // null once it has ended
  std::string last_words_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point offered_;  // time of the last call of `offer`
  std::chrono::steady_clock::time_point began_;
  double seconds_ = 0;
};

}  // namespace flor::cli
