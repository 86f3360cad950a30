// The ranks of a job meet in the home before a training: each leaves a file there, and rank 0 sums
// up.
#pragma once

#include "doctor/rank_facts.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace flor::cli {

/// This process among those that its launcher started together.
struct LaunchedRank {
  std::int64_t rank = 0, world = 1;
  std::string launch;  ///< a text that all of them have, and no other job
  /// A launcher said so to whom programs that record do not listen: its variable. Else empty.
  std::string unheard;
};
/// As programs take it (protocol/ranks.h), else as mpirun and srun say. Throws UsageError for a
/// process that has no others.
LaunchedRank launched_rank();

struct RankReport {
  std::vector<RankFacts> ranks;  ///< those that came, in order; of another rank than 0 none
  Findings findings;
  bool fails = false;  ///< the same for all ranks that met
};

/// Meets the others. Writes into `home`, which it makes if it is missing, 16 MiB at most, and
/// removes what it wrote. Waits so long at most for others, twice at other ranks than 0. Throws
/// Error where the home cannot be written.
RankReport meet_ranks(const std::filesystem::path& home, const LaunchedRank& self,
                      std::chrono::duration<double> patience);

}  // namespace flor::cli
