// Verifies the findings of this or an earlier replay: a worker executes some of its epochs, in a
// place that the replay no longer needs, or after the replay.
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
  /// All arguments must outlive it. `request.order.home` may be a look at the store.
  EpochVerifier(store::Store& store, const ReplayRequest& request, Progress& progress);

  void offer(const ReplayOutcome& so_far, int worker) override;
  std::vector<int> events() const override;
  void look_after() override;

  /// Executes the epochs, unless `offer` has started that, and waits for their end; stores the
  /// result, and changes the summary accordingly.
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
  std::set<std::string> loops_;  // the nested ones
  detail::EpochTimes times_;
  detail::VerifyPlan plan_;
  std::optional<detail::VerifierTalk> talk_;  // once started
  std::unique_ptr<ReplayProcess> worker_;     // until it has ended
  std::string last_words_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point offered_;  // last
  std::chrono::steady_clock::time_point began_;
  double seconds_ = 0;
};

}  // namespace flor::cli
