// Prints the plan of a dry run of flor replay, and the summary at the end of a replay.
#pragma once

#include "protocol/verdict_text.h"
#include "replay/replay_coordinator.h"

namespace flor::cli {

class Context;

struct ReplaySummary {
  store::ReplayResult total;  ///< of all requested parts, including those that an earlier replay
                              ///< answered
  detail::FoundValues found;  ///< the same for the new values alone
  std::vector<std::string> verification;  ///< results of the epochs executed for verification, a
                                          ///< line each
  std::vector<std::string> differences;
  double estimate = 0;  ///< expected duration in seconds
};

ReplaySummary summarize(const ReplayRequest& request, const ReplayOutcome& outcome,
                        double estimate);

/// The verdict in the words that the program itself prints. `shown`: nothing was executed that
/// could have been compared, because a plug-in only looked at the stored state.
std::string verdict_text(const ReplaySummary& summary, bool shown = false);

void print_plan(Context& context, const ReplayRequest& request,
                const std::set<std::int64_t>& missing, const Simulation& plan);
void print_summary(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                   const ReplaySummary& summary);

}  // namespace flor::cli
