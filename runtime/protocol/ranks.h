// The processes that run one program together, as the launcher says in the environment.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// This process among its ranks.
struct Ranks {
  std::int64_t rank = 0, world = 2;  ///< 0 <= rank < world, at least two
  bool one_machine = true;           ///< all run on this machine, as far as known
  std::string launch = {};           ///< a text common to processes that were started together

  bool is_first() const { return rank == 0; }
};

/// From RANK and WORLD_SIZE, which torchrun and most wrappers set. Without them from SLURM_PROCID
/// and SLURM_STEP_NUM_TASKS (or SLURM_NTASKS), but only where MASTER_ADDR says that the processes
/// are to find each other: independent trainings that one `srun` starts are no ranks. Nothing where
/// there is one process. Throws UsageError for numbers that cannot be.
std::optional<Ranks> ranks_here();

/// The run of a group that belongs to this process: of the same rank. `run` itself where neither
/// has ranks. Throws UsageError where the numbers of ranks differ, NotFound where the rank has no
/// run; `what`: "replay" or "resume", for the message.
store::Run run_of_this_rank(const store::Catalog& catalog, store::Run run, std::string_view what);

/// "rank 1 of 2"
std::string print_rank(const store::RankPlace& place);

}  // namespace flor::detail
