// A run that is being recorded: its progress, its speed, and its last sign of life.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace flor::cli {

/// The speed of a run; a nullopt is not known yet.
struct RunPace {
  std::optional<double> epoch_seconds;  ///< mean of the latest epochs
  std::optional<double> left_seconds;   ///< until its last epoch ends, at this speed
  std::optional<double> overhead;       ///< cost of recording, as a fraction of the computing time
};

/// The number of epochs that a run will probably make: the whole number among its arguments whose
/// name ends in the word `epochs`, as in `max_epochs`. nullopt if the run has made more already, or
/// if there are several such arguments and none is called `epochs`.
std::optional<std::int64_t> planned_epochs(std::span<const store::Argument> arguments,
                                           std::int64_t done);

/// `iterations`: all complete ones; `going_since_us`: the start of the epoch that is being
/// executed.
RunPace pace_of(std::span<const store::Iteration> iterations, std::optional<std::int64_t> planned,
                std::int64_t going_since_us, std::int64_t now_us);

struct LiveRun {
  store::Run run;  ///< of a group its first rank, with the state of all ranks
  std::optional<std::int64_t> planned;
  RunPace pace;
  std::optional<store::MetricSummary> metric;
  /// The last sign of life; of a group, that of the rank that has been silent for the longest time.
  std::int64_t sign_us = 0;

  bool is_running() const { return run.state == store::RunState::running; }
  /// The time of its end, or of its last sign of life.
  std::int64_t ended_us() const { return run.finished_us.value_or(sign_us); }
};

/// `metric`: name of the metric to show; empty: the first number that was logged.
LiveRun live_run(const store::Store& store, store::Run run, const std::string& metric,
                 std::int64_t now_us);

}  // namespace flor::cli
