// Chooses runs by the operands and --where of a command line, for every command that takes several
// runs.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
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

/// Keeps only the runs that meet all conditions. Throws NotFound for a column that no run has.
void keep_runs_where(const store::Catalog& catalog, std::vector<store::Run>& runs,
                     const std::vector<std::string>& where, std::int64_t now_us);

/// Throws NotFound, saying that no run meets the conditions.
[[noreturn]] void none_meets(const std::vector<std::string>& where);

}  // namespace flor::cli
