// When checkpoints inside iterations are due, by --flor_every_steps and --flor_every_seconds.
#pragma once

#include "protocol/flags.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace flor::detail {

/// Says when a checkpoint inside an iteration is due. To be used by the training thread.
class StepRule {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Counting of seconds begins with the construction.
  explicit StepRule(std::function<Time()> clock);
  /// To be called before the first step.
  void set_rule(const Flags& flags);

  /// False if no checkpoint is ever due, so that steps need not be counted.
  bool is_set() const { return every_steps_ || every_seconds_; }
  /// Called after an iteration of a nested loop.
  void step() { ++steps_; }
  /// Called when a checkpoint is taken, inside an iteration or between two.
  void taken();
  bool is_due() const;

 private:
  // Copies that are next to each other in memory, since they are read after every step.
  std::optional<std::int64_t> every_steps_;
  std::optional<double> every_seconds_;
  std::function<Time()> clock_;
  std::int64_t steps_ = 0;  // since the last checkpoint
  Time taken_at_;
};

}  // namespace flor::detail
