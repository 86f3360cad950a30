#include "schedule/step_rule.h"

#include <utility>

namespace flor::detail {

StepRule::StepRule(std::function<Time()> clock) : clock_(std::move(clock)), taken_at_(clock_()) {}

void StepRule::set_rule(const Flags& flags) {
  every_steps_ = flags.every_steps;
  every_seconds_ = flags.every_seconds;
}

void StepRule::taken() {
  steps_ = 0;
  taken_at_ = clock_();
}

bool StepRule::is_due() const {
  if (every_steps_ && steps_ >= *every_steps_) return true;
  return every_seconds_ &&
         std::chrono::duration<double>(clock_() - taken_at_).count() >= *every_seconds_;
}

}  // namespace flor::detail
