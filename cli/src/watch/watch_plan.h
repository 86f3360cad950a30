// The orders of a watch, and the events that it reports.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "launch/seat_starter.h"
#include "queue/job_queue.h"
#include "watch/checkpoint_files.h"
#include "watch/directory_watch.h"
#include "watch/evaluators/evaluation_group.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct WatchPlan {
  /// Absolute paths. If `directories` and `scopes` are empty, the watch only evaluates jobs that
  /// other processes have added.
  std::vector<std::filesystem::path> directories;
  std::vector<store::CheckpointScope> scopes = {};  ///< Flor's own runs, to be watched instead of
                                                    ///< directories
  Handover handover = Handover::safetensors;        ///< form in which evaluators get the
                                                    ///< checkpoints of `scopes`
  /// An evaluator, and the directory whose checkpoints it evaluates; nullopt: those of all
  /// directories.
  struct Judge {
    GroupPlan group;
    std::optional<std::filesystem::path> directory = {};
  };
  std::vector<Judge> judges;  ///< at least one
  std::string arguments;      ///< a JSON object that evaluators get besides the path; may be empty
  DirectoryWatchOptions finding;
  store::JobOrder order = store::JobOrder::fifo;
  store::RetryPolicy retries;
  EngineWish engine;                           ///< where the workers run
  std::chrono::milliseconds idle{60'000};      ///< how long workers on other machines are kept
                                               ///< without a job
  std::chrono::milliseconds lease{30'000};     ///< duration of a lease; it is renewed three times
                                               ///< before it ends
  bool existing = false;                       ///< also evaluate checkpoints from before the start
  bool until_idle = false;                     ///< end when there is nothing to do
  std::chrono::milliseconds patience{60'000};  ///< with `until_idle`: how long writing may fail
                                               ///< before the watch ends
};

/// The end of an evaluation.
struct JobEvent {
  enum class Kind { done, failed, dead };
  Kind kind = Kind::done;
  std::int64_t job = 0;
  std::string path;
  std::string text;    ///< the result, or the reason why there is none
  double seconds = 0;  ///< duration of the evaluation
};

/// Called with a line for the user about the watch itself.
using WatchNote = std::function<void(const std::string&)>;

}  // namespace flor::cli
