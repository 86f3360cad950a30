#include "schedule/step_rule.h"

#include <utility>

namespace flor::detail {

StepRule::StepRule(const Flags& flags, std::function<Time()> clock)
    : flags_(flags), clock_(std::move(clock)), taken_at_(clock_()) {}

void StepRule::taken() {
  steps_ = 0;
  taken_at_ = clock_();
}

bool StepRule::is_due() const {
  if (flags_.every_steps && steps_ >= *flags_.every_steps) return true;
  return flags_.every_seconds &&
         std::chrono::duration<double>(clock_() - taken_at_).count() >= *flags_.every_seconds;
}

}  // namespace flor::detail
