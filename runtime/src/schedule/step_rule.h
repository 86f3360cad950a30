// Checkpoints inside iterations, by --flor_every_steps and --flor_every_seconds.
#pragma once

#include "protocol/flags.h"

#include <chrono>
#include <cstdint>
#include <functional>

namespace flor::detail {

/// When a checkpoint inside an iteration is due. Belongs to the thread of the training.
class StepRule {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The seconds begin now. `flags` outlives this object, and is final before the first step.
  StepRule(const Flags& flags, std::function<Time()> clock);

  /// False: none is ever due, and steps need not be counted.
  bool is_set() const { return flags_.every_steps || flags_.every_seconds; }
  /// An iteration of a nested loop is complete.
  void step() { ++steps_; }
  /// A checkpoint is taken, inside an iteration or between two of them.
  void taken();
  bool is_due() const;

 private:
  const Flags& flags_;
  std::function<Time()> clock_;
  std::int64_t steps_ = 0;  // since the last checkpoint
  Time taken_at_;
};

}  // namespace flor::detail
