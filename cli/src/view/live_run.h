// A run while it is recorded: how far it is, how fast, and when it was last heard of.
#pragma once

#include <flor/store/store.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace flor::cli {

/// The speed of a run; absent is what is not known yet.
struct RunPace {
  std::optional<double> epoch_seconds;  ///< of the latest epochs, on average
  std::optional<double> left_seconds;   ///< until its last epoch ends, if it goes on like that
  std::optional<double> overhead;       ///< of recording, as a share of the time of computing
};

/// The number of epochs that a run means to make: that of a whole number among its arguments whose
/// name ends in the word `epochs`, as in `max_epochs`; none where it has made more already, or where
/// there are several such arguments and none is called `epochs`.
std::optional<std::int64_t> planned_epochs(std::span<const store::Argument> arguments,
                                           std::int64_t done);

/// `iterations`: all complete ones; `going_since_us`: when the epoch that goes on began.
RunPace pace_of(std::span<const store::Iteration> iterations, std::optional<std::int64_t> planned,
                std::int64_t going_since_us, std::int64_t now_us);

struct LiveRun {
  store::Run run;  ///< of a group the first rank, with the state of all
  std::optional<std::int64_t> planned;
  RunPace pace;
  std::optional<store::MetricSummary> metric;
  /// For a group: when the rank that has been silent for the longest time was heard.
  std::int64_t sign_us = 0;

  bool is_running() const { return run.state == store::RunState::running; }
  /// When it ended, or was last heard of.
  std::int64_t ended_us() const { return run.finished_us.value_or(sign_us); }
};

/// `metric`: its name; empty for the first number that was logged.
LiveRun live_run(const store::Store& store, store::Run run, const std::string& metric,
                 std::int64_t now_us);

}  // namespace flor::cli
