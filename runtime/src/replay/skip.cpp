#include "replay/skip.h"

#include <fmt/format.h>

namespace flor::detail {

SkipDecision decide(const LoopFacts& facts) {
  // On the way to requested epochs no question is asked, except if it needs values that are left
  // there.
  const bool asked = !facts.catching_up || facts.leads;
  if (asked && facts.named) return {SkipReason::named};
  if (asked && facts.changed) return {SkipReason::changed};
  if (asked && facts.read) return {SkipReason::read};
  if (!facts.stored) return {SkipReason::not_stored};
  if (facts.left_main) return {SkipReason::left};
  if (facts.broke && facts.leaving == sources::Leaving::possible) return {SkipReason::left};
  if (facts.broke && facts.leaving == sources::Leaving::unknown) return {SkipReason::no_source};
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
    case SkipReason::no_source:
      return "left early, its source is not known";
  }
  return {};
}

}  // namespace flor::detail
