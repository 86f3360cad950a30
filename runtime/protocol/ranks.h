// The processes (ranks) that run one program together, as the launcher describes them in the
// environment.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// Which rank this process is.
struct Ranks {
  std::int64_t rank = 0, world = 2;  ///< 0 <= rank < world, at least two
  bool one_machine = true;           ///< all ranks run on this machine, as far as is known
  std::string launch = {};           ///< equal for all processes that were started together

  bool is_first() const { return rank == 0; }
};

/// Reads RANK and WORLD_SIZE, which torchrun and most wrappers set. Without them reads SLURM_PROCID
/// and SLURM_STEP_NUM_TASKS (or SLURM_NTASKS), but only if MASTER_ADDR is set for the processes to
/// find each other: independent trainings started by one `srun` are no ranks. Returns nothing for a
/// single process. Throws UsageError for impossible numbers.
std::optional<Ranks> ranks_here();

/// The run of the group that has the rank of this process; `run` itself if neither has ranks.
/// Throws UsageError if the numbers of ranks differ, and NotFound if the rank has no run. `what` is
/// "replay" or "resume", for the message.
store::Run run_of_this_rank(const store::Catalog& catalog, store::Run run, std::string_view what);

/// For example "rank 1 of 2".
std::string print_rank(const store::RankPlace& place);

}  // namespace flor::detail
