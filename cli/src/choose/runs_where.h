// Chooses runs by the operands and --where of a command line, for every command that takes several
// runs.
#pragma once

#include "choose/asked.h"

#include <flor/store/catalog.h>

#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct RunsWanted {
  std::vector<std::string> words = {};  ///< each is a RUN or a NAME
  std::vector<std::string> where = {};  ///< conditions that must all be met
  store::RunRanks ranks = store::RunRanks::first;
  bool all_of_names = false;  ///< a NAME stands for all its runs even without conditions
};

/// The chosen runs, each once. Without conditions and without `all_of_names`, a word names one run,
/// and no word means the default run. Otherwise the name of an experiment means all its runs,
/// newest first, and no word means all runs of the store if there are conditions, else the runs of
/// the default run's experiment. Throws NotFound if no run meets the conditions.
std::vector<store::Run> choose_runs(Context& context, const RunsWanted& wanted);

}  // namespace flor::cli
