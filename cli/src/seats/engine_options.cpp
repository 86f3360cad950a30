#include "seats/engine_options.h"

#include <flor/store/error.h>

namespace flor::cli {

void EngineOptions::setup(Syntax& syntax, EngineWish& wish) {
  syntax.option("--engine", "ENGINE", engine_,
                "run on local, slurm, ssh:HOST,HOST or run:COMMAND (docs/other-machines.md)");
  SlurmWish& slurm = wish.slurm;
  syntax.option("--partition", "NAME", slurm.partition,
                "ask Slurm for this partition");
  syntax.option("--account", "NAME", slurm.account, "charge this account of Slurm");
  syntax.option("--time", "TIME", slurm.time, "end the job after TIME, as sbatch has it: 2:00:00");
  syntax.option("--nodes", "N", slurm.nodes, "ask Slurm for N nodes (default: as the workers fit)");
  syntax.option("--gres", "LIST", slurm.gres, "ask for these of each node: gpu:4");
  syntax.option("--gpus-per-task", "N", slurm.gpus_per_task, "give each worker N GPUs");
  syntax.flag("--array", slurm.array, "submit a job of an array for each worker, not one for all");
  syntax.option("--sbatch", "OPTION", slurm.sbatch,
                "pass another option to sbatch, as --sbatch=--mem=8G");
  syntax.option("--srun", "OPTION", slurm.srun, "pass another option to srun, for the job step");
  syntax.option("--remote-flor", "PATH", wish.flor,
                "run this flor on the other machines (default: the path of this one)");
}

void EngineOptions::finish(EngineWish& wish) const {
  parse_engine(engine_, wish);
  const SlurmWish& slurm = wish.slurm;
  const bool said = !slurm.partition.empty() || !slurm.account.empty() || !slurm.time.empty() ||
                    !slurm.gres.empty() || slurm.nodes || slurm.gpus_per_task || slurm.array ||
                    !slurm.sbatch.empty() || !slurm.srun.empty();
  if (said && wish.kind != EngineWish::Kind::slurm) {
    throw UsageError(
        "--partition, --account, --time, --nodes, --gres, --gpus-per-task, --array, --sbatch and "
        "--srun belong to --engine slurm");
  }
  if (wish.is_local() && (!wish.shared.empty() || !wish.flor.empty())) {
    throw UsageError("--shared and --remote-flor belong to --engine slurm, ssh: or run:");
  }
}

}  // namespace flor::cli
