#include "skip.h"

#include <fmt/format.h>

namespace flor::detail {

SkipDecision decide(const LoopFacts& facts) {
  // On the way nothing is asked; but what is asked may need what is left there.
  const bool asked = !facts.catching_up || facts.leads;
  if (asked && facts.named) return {SkipReason::named};
  if (asked && facts.changed) return {SkipReason::changed};
  if (asked && facts.read) return {SkipReason::read};
  if (!facts.stored) return {SkipReason::not_stored};
  if (facts.left_main) return {SkipReason::left};
  if (facts.broke && facts.may_leave) {
    return {facts.sources_known ? SkipReason::left : SkipReason::no_sources};
  }
  return {};
}

std::string print_reason(SkipReason reason, std::string_view question) {
  switch (reason) {
    case SkipReason::skipped:
      return "skipped";
    case SkipReason::named:
      return "probed";
    case SkipReason::changed:
      return "changed";
    case SkipReason::read:
      return question.empty() ? "read by the question" : fmt::format("read by {}", question);
    case SkipReason::not_stored:
      return "not stored";
    case SkipReason::left:
      return "left by return";
    case SkipReason::no_sources:
      return "left early, no sources";
  }
  return {};
}

}  // namespace flor::detail
