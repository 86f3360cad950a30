// Slurm, as far as its own commands go: sbatch, srun, squeue and scancel. A job of one program that
// runs in several tasks.
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

/// How the tasks are to be run, as options of a command say it. Empty: what the cluster does if
/// nothing is said. `time` and `gres` are as sbatch has them.
struct SlurmWish {
  std::string partition, account, time, gres;
  std::optional<std::uint64_t> nodes, gpus_per_task;
  /// One job of an array for each task, which start one by one as there is room; else one
  /// allocation for all.
  bool array = false;
  std::vector<std::string> sbatch, srun;  ///< further options, as they are
};

/// What runs, once in each task.
struct SlurmTasks {
  std::string name;                  ///< of the job
  std::vector<std::string> command;  ///< a path, the same on all nodes, and arguments
  int count = 1;
  int cores = 1;                    ///< of each task
  std::filesystem::path directory;  ///< that the nodes share: what the job writes goes there
};

/// What Slurm says of a job. It may be wrong for a while, after a crash of the controller or of a
/// node: whoever knows better from the tasks themselves should not rely on it.
struct SlurmState {
  enum class Phase {
    unknown,  ///< not asked yet, or nobody has answered
    pending,
    running,
    ended,
  } phase = Phase::unknown;
  std::string name =
      {};  ///< "PENDING", "NODE_FAIL"; of an array, that of an element which counts most
  std::string reason = {};   ///< why it waits, "Resources"; empty: not said
  std::string nodes = {};    ///< "n[1-2]"
  std::string trouble = {};  ///< why squeue did not answer, if it did not

  /// "waits for the jobs before it (Priority)".
  std::string why_pending() const;
  /// It will not start however long one waits, unless somebody changes something.
  bool is_stuck() const;
};

/// A job that runs as long as somebody needs it. Not cancelled with the object. Not thread-safe.
class SlurmJob {
 public:
  /// Submits it by sbatch; in an allocation (SLURM_JOB_ID is set), unless an array is wanted, it is
  /// a step of that, begun by srun. A requeued job begins anew. Throws Error where there is no
  /// Slurm, or it refuses, in its own words.
  static std::unique_ptr<SlurmJob> submit(const SlurmTasks& tasks, const SlurmWish& wish);
  /// One that somebody else has submitted.
  explicit SlurmJob(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  bool is_step() const { return step_ != nullptr; }

  /// What squeue said last. Never waits: asks in the background, the more rarely the longer the job
  /// lasts (every 1 to 15 s).
  const SlurmState& state();
  /// Asks at the next `state`, and more often again.
  void ask_soon();
  /// By scancel, at most `seconds`; of a step, by ending its srun. False: Slurm has not answered.
  bool cancel(double seconds = 10);
  /// The last line that the job has written, which says most likely why it failed.
  std::string last_words() const;

 private:
  using Clock = std::chrono::steady_clock;
  void hear(const ChildResult& answer);

  std::string id_;
  std::filesystem::path output_;        ///< a directory with what it has written; empty: none
  std::unique_ptr<ChildProcess> step_;  ///< srun
  std::unique_ptr<ChildProcess> asking_;
  SlurmState state_;
  Clock::time_point since_ = Clock::now(), asked_at_{};
};

/// What `squeue -o %T|%r|%N` says of a job or of all elements of an array.
SlurmState parse_squeue(std::string_view text);

}  // namespace flor::cli
