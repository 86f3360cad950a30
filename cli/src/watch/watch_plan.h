// The orders to a watch, and the events that it tells the user of.
#pragma once

#include "checkpoint/named_checkpoints.h"
#include "launch/seat_starter.h"
#include "queue/jobs.h"
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
  /// Absolute. If empty, it judges jobs that other processes have added.
  std::vector<std::filesystem::path> directories;
  std::vector<store::CheckpointScope> scopes = {};  ///< Flor's own runs, instead of directories
  Handover handover = Handover::safetensors;        ///< of their checkpoints
  /// An evaluator, and the directory whose checkpoints it judges; nothing: all.
  struct Judge {
    GroupPlan group;
    std::optional<std::filesystem::path> directory = {};
  };
  std::vector<Judge> judges;  ///< at least one
  std::string arguments;      ///< for the evaluators, besides the path: a JSON object, or nothing
  DirectoryWatchOptions finding;
  store::JobOrder order = store::JobOrder::fifo;
  store::RetryPolicy retries;
  EngineWish engine;                           ///< where the workers are
  std::chrono::milliseconds idle{60'000};      ///< how long workers elsewhere wait for a job
  std::chrono::milliseconds lease{30'000};     ///< prolonged three times before it ends
  bool existing = false;                       ///< judges checkpoints from before the start, too
  bool until_idle = false;                     ///< ends when there is nothing to do
  std::chrono::milliseconds patience{60'000};  ///< with `until_idle`, while writing fails
};

/// An evaluation has ended.
struct JobEvent {
  enum class Kind { done, failed, dead };
  Kind kind = Kind::done;
  std::int64_t job = 0;
  std::string path;
  std::string text;    ///< the result, or why there is none
  double seconds = 0;  ///< how long it took
};

/// A line for the user, about the watch itself.
using WatchNote = std::function<void(const std::string&)>;

}  // namespace flor::cli
