// Checkpoints inside iterations, by --flor_every_steps and --flor_every_seconds.
#pragma once

#include "protocol/flags.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace flor::detail {

/// When a checkpoint inside an iteration is due. Belongs to the thread of the training.
class StepRule {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The seconds begin now.
  explicit StepRule(std::function<Time()> clock);
  /// Before the first step.
  void set_rule(const Flags& flags);

  /// False: none is ever due, and steps need not be counted.
  bool is_set() const { return every_steps_ || every_seconds_; }
  /// An iteration of a nested loop is complete.
  void step() { ++steps_; }
  /// A checkpoint is taken, inside an iteration or between two of them.
  void taken();
  bool is_due() const;

 private:
  // Beside each other, and copied: they are asked after every step.
  std::optional<std::int64_t> every_steps_;
  std::optional<double> every_seconds_;
  std::function<Time()> clock_;
  std::int64_t steps_ = 0;  // since the last checkpoint
  Time taken_at_;
};

}  // namespace flor::detail
