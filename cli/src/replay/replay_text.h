// Prints for flor replay: the plan of a dry run, and the summary at the end.
#pragma once

#include "protocol/verdict_text.h"
#include "replay/replay_coordinator.h"

namespace flor::cli {

class Context;

struct ReplaySummary {
  store::ReplayResult total;  ///< of all parts asked for, including those answered before
  detail::FoundValues found;  ///< the same of the new values
  std::vector<std::string> verification;  ///< results of executing epochs, a line each
  std::vector<std::string> differences;
  double estimate = 0;  ///< seconds
};

ReplaySummary summarize(const ReplayRequest& request, const ReplayOutcome& outcome,
                        double estimate);

/// In the program's own words. `shown`: nothing was executed that could have been compared, since a
/// plug-in saw the stored state.
std::string verdict_text(const ReplaySummary& summary, bool shown = false);

void print_plan(Context& context, const ReplayRequest& request,
                const std::set<std::int64_t>& missing, const Simulation& plan);
void print_summary(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                   const ReplaySummary& summary);

}  // namespace flor::cli
