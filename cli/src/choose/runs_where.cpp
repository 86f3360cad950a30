#include "choose/runs_where.h"

#include "choose/asked.h"
#include "choose/run_spec.h"
#include "shell/context.h"

#include <algorithm>
#include <utility>

namespace flor::cli {
namespace {

void add_once(std::vector<store::Run>& runs, store::Run run) {
  if (std::ranges::find(runs, run.id, &store::Run::id) == runs.end()) {
    runs.push_back(std::move(run));
  }
}

std::vector<store::Run> listed(Context& context, const ListingPlan& plan) {
  std::vector<store::Run> runs;
  each_listed(context.store(), plan, context.now_us(),
              [&](ListedRun& facts) { runs.push_back(std::move(facts.run)); });
  return runs;
}

/// All runs of an experiment if `word` is its name, else the one run that it names.
std::vector<store::Run> runs_named(Context& context, const std::string& word,
                                   store::RunRanks ranks) {
  const std::vector<std::string> experiments = context.catalog().experiments();
  if (std::ranges::find(experiments, word) == experiments.end()) {
    return {parse_whole_run(context, word)};
  }
  return listed(context, {.experiment = word, .detail = store::RunDetail::all, .ranks = ranks});
}

}  // namespace

std::vector<store::Run> choose_runs(Context& context, const RunsWanted& wanted) {
  std::vector<store::Run> runs;
  if (wanted.where.empty() && !wanted.all_of_names) {
    for (const std::string& word : wanted.words) add_once(runs, parse_whole_run(context, word));
    if (runs.empty()) runs.push_back(default_run(context.catalog()));
    return runs;
  }
  if (wanted.words.empty() && wanted.where.empty()) {
    return runs_named(context, default_run(context.catalog()).start.experiment, wanted.ranks);
  }
  if (wanted.words.empty()) {  // the index finds them faster than testing each run
    runs = listed(context,
                  {.where = wanted.where, .detail = store::RunDetail::all, .ranks = wanted.ranks});
  } else {
    for (const std::string& word : wanted.words) {
      for (store::Run& run : runs_named(context, word, wanted.ranks)) {
        add_once(runs, std::move(run));
      }
    }
    keep_runs_where(context.catalog(), runs, wanted.where, context.now_us());
  }
  if (runs.empty()) none_meets(wanted.where);
  return runs;
}

}  // namespace flor::cli
