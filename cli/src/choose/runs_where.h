// Runs by the words of a command line and by --where, for every command that takes several.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

struct RunsWanted {
  std::vector<std::string> words = {};  ///< RUN, or NAME
  std::vector<std::string> where = {};  ///< conditions that all must hold
  store::RunRanks ranks = store::RunRanks::first;
  bool all_of_names = false;  ///< a NAME stands for all of its runs also without conditions
};

/// Each run once. Without conditions, and unless `all_of_names`, a word names one run, and no word
/// means the default run. Else a word that is an experiment's name means all of its runs, newest
/// first; no word means with conditions all runs of the store, without them those of the default
/// run's experiment. Throws NotFound where no run meets the conditions.
std::vector<store::Run> choose_runs(Context& context, const RunsWanted& wanted);

/// Keeps only the runs that meet all conditions. Throws NotFound for a name that no run has.
void keep_runs_where(const store::Catalog& catalog, std::vector<store::Run>& runs,
                     const std::vector<std::string>& where, std::int64_t now_us);

/// Throws NotFound: the conditions left no run.
[[noreturn]] void none_meets(const std::vector<std::string>& where);

}  // namespace flor::cli
