// Slurm through its own commands: sbatch, srun, squeue and scancel. A job of one program that runs
// in several tasks.
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

/// How the tasks are run, as options of sbatch and srun. Empty: the cluster's default. `time` and
/// `gres` have sbatch's form.
struct SlurmWish {
  std::string partition, account, time, gres;
  std::optional<std::uint64_t> nodes, gpus_per_task;
  /// Makes an array with one job for each task, which start one by one as there is room; else one
  /// allocation for all.
  bool array = false;
  std::vector<std::string> sbatch, srun;  ///< further options, passed unchanged
};

/// The command to run, once in each task.
struct SlurmTasks {
  std::string name;                  ///< of the job
  std::vector<std::string> command;  ///< a path, the same on all nodes, and arguments
  int count = 1;
  int cores = 1;                    ///< of each task
  std::filesystem::path directory;  ///< shared by the nodes; gets the job's output
};

/// A job's state as Slurm reports it. It may be wrong for a while, after a crash of the controller
/// or of a node: a caller that knows better from the tasks themselves should not rely on it.
struct SlurmState {
  enum class Phase {
    unknown,  ///< not asked yet, or no answer
    pending,
    running,
    ended,
  } phase = Phase::unknown;
  std::string name =
      {};  ///< "PENDING", "NODE_FAIL"; of an array, that of an element which counts most
  std::string reason = {};   ///< why it waits, "Resources"; empty: not reported
  std::string nodes = {};    ///< "n[1-2]"
  std::string trouble = {};  ///< why squeue did not answer, if it did not

  /// "waits for the jobs before it (Priority)".
  std::string why_pending() const;
  /// Whether it will never start, unless the user or an administrator changes something.
  bool is_stuck() const;
};

/// A job that runs as long as its tasks are needed. Not cancelled with the object. Not thread-safe.
class SlurmJob {
 public:
  /// Submits the job by sbatch; in an allocation (SLURM_JOB_ID is set), unless an array is wanted,
  /// it becomes a step of that, begun by srun. A requeued job begins anew. Throws Error if Slurm is
  /// missing or refuses, with Slurm's own words.
  static std::unique_ptr<SlurmJob> submit(const SlurmTasks& tasks, const SlurmWish& wish);
  /// A job that another process has submitted.
  explicit SlurmJob(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  bool is_step() const { return step_ != nullptr; }

  /// The latest report of squeue. Never waits: asks in the background, more rarely the longer the
  /// job lasts (every 1 to 15 s).
  const SlurmState& state();
  /// Asks at the next `state`, and more often again.
  void ask_soon();
  /// Cancels by scancel, in at most `seconds`; a step by ending its srun. False: Slurm has not
  /// answered.
  bool cancel(double seconds = 10);
  /// The last line of the job's output, which most likely tells why it failed.
  std::string last_words() const;

 private:
  using Clock = std::chrono::steady_clock;
  void hear(const ChildResult& answer);

  std::string id_;
  std::filesystem::path output_;        ///< a directory with its output; empty: none
  std::unique_ptr<ChildProcess> step_;  ///< srun
  std::unique_ptr<ChildProcess> asking_;
  SlurmState state_;
  Clock::time_point since_ = Clock::now(), asked_at_{};
};

/// Parses the output of `squeue -o %T|%r|%N` for a job or all elements of an array.
SlurmState parse_squeue(std::string_view text);

}  // namespace flor::cli
