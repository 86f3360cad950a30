// Runs a job on Slurm through its own commands sbatch, srun, squeue and scancel. A job is one
// program that runs in several tasks.
#pragma once

#include "process/child.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// Options for sbatch and srun. An empty member means the cluster's default. `time` and `gres` are
/// written as sbatch takes them.
struct SlurmWish {
  std::string partition, account, time, gres;
  std::optional<std::uint64_t> nodes, gpus_per_task;
  /// Submits an array of single-task jobs, which Slurm starts one by one when there is room,
  /// instead of one allocation for all tasks.
  bool array = false;
  std::vector<std::string> sbatch, srun;  ///< further options, passed unchanged
};

/// The command that each task runs.
struct SlurmTasks {
  std::string name;                  ///< name of the job
  std::vector<std::string> command;  ///< a path that is the same on all nodes, and arguments
  int count = 1;
  int cores = 1;                    ///< for each task
  std::filesystem::path directory;  ///< shared by all nodes; receives the job's output
};

/// A job's state as Slurm reports it. After a crash of the controller or of a node the report may
/// be wrong for a while, so a caller that hears from the tasks themselves should believe them
/// instead.
struct SlurmState {
  enum class Phase {
    unknown,  ///< not asked yet, or no answer
    pending,
    running,
    ended,
  } phase = Phase::unknown;
  std::string name =
      {};  ///< "PENDING", "NODE_FAIL"; of an array, the state of the element that counts most
  std::string reason = {};   ///< why the job waits, such as "Resources"; empty: not reported
  std::string nodes = {};    ///< such as "n[1-2]"
  std::string trouble = {};  ///< why squeue did not answer; empty if it did

  /// For the user: "waits for the jobs before it (Priority)".
  std::string why_pending() const;
  /// Whether the job will never start unless the user or an administrator changes something.
  bool is_stuck() const;
};

/// A submitted job. The destructor does not cancel it. Not thread-safe.
class SlurmJob {
 public:
  /// Submits the job with sbatch. Inside an allocation (SLURM_JOB_ID is set), unless an array is
  /// wanted, starts a step of that allocation with srun instead. A requeued job begins anew. Throws
  /// Error, with Slurm's own words, if Slurm is missing or refuses.
  static std::unique_ptr<SlurmJob> submit(const SlurmTasks& tasks, const SlurmWish& wish);
  /// Refers to a job that another process has submitted.
  explicit SlurmJob(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  bool is_step() const { return step_ != nullptr; }

  /// The latest report of squeue. Never waits: a background call asks squeue every 1 to 15 s, more
  /// rarely the longer the job lasts.
  const SlurmState& state();
  /// Makes the next call of `state` ask squeue, and lets later ones ask often again.
  void ask_soon();
  /// Cancels the job with scancel, which may take at most `seconds`; a step by ending its srun.
  /// Returns false if Slurm did not answer.
  bool cancel(double seconds = 10);
  /// The last line of the job's output, which most likely tells why it failed.
  std::string last_words() const;

 private:
  using Clock = std::chrono::steady_clock;
  void hear(const ChildResult& answer);

  std::string id_;
  std::filesystem::path output_;        ///< the directory with the job's output; empty: unknown
  std::unique_ptr<ChildProcess> step_;  ///< the srun process, if the job is a step
  std::unique_ptr<ChildProcess> asking_;
  SlurmState state_;
  Clock::time_point since_ = Clock::now(), asked_at_{};
};

/// Parses the output of `squeue -o %T|%r|%N` for a job, or for all elements of an array.
SlurmState parse_squeue(std::string_view text);

}  // namespace flor::cli
