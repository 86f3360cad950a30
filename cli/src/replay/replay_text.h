// What flor replay prints: the plan of a dry run, and the summary at the end.
#pragma once

#include "protocol/verdict_text.h"
#include "replay/replay_coordinator.h"

namespace flor::cli {

class Context;

struct ReplaySummary {
  store::ReplayResult total;  ///< of everything that was asked, answered before included
  detail::FoundValues found;  ///< the same of the new values
  std::vector<std::string> verification;  ///< what came of executing epochs, a line each
  std::vector<std::string> differences;
  double estimate = 0;  ///< seconds
};

ReplaySummary summarize(const ReplayRequest& request, const ReplayOutcome& outcome,
                        double estimate);

/// As the program itself says it. `shown`: nothing was executed that could have been compared, since a plug-in saw what is stored.
std::string verdict_text(const ReplaySummary& summary, bool shown = false);

void print_plan(Context& context, const ReplayRequest& request,
                const std::set<std::int64_t>& missing, const Simulation& plan);
void print_summary(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                   const ReplaySummary& summary);

}  // namespace flor::cli
