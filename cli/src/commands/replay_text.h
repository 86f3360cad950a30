// What flor replay prints: the plan of a dry run, and the summary at the end.
#pragma once

#include "replay/coordinator.h"

namespace flor::cli {

class Context;

struct ReplaySummary {
  store::ReplayResult total;  ///< of everything that was asked, answered before included
  std::vector<std::string> differences;
  double estimate = 0;  ///< seconds
};

ReplaySummary summarize(const ReplayRequest& request, const ReplayOutcome& outcome,
                        double estimate);

/// "exact: 30 values and 6 states equal the record; 12 new values"
/// `shown`: nothing was executed that could have been compared, since a plug-in saw what is stored.
std::string verdict_text(const store::ReplayResult& total, bool shown = false);

void print_plan(Context& context, const ReplayRequest& request,
                const std::set<std::int64_t>& missing, const Simulation& plan);
void print_summary(Context& context, const ReplayRequest& request, const ReplayOutcome& outcome,
                   const ReplaySummary& summary);

}  // namespace flor::cli
