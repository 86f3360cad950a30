#include "verdict/new_values.h"

namespace flor::detail {

store::ValueVerdict verdict_of_new(const NewValueFacts& facts) {
  if (facts.otherwise) return store::ValueVerdict::doubtful;
  if (facts.whole && facts.compared) return store::ValueVerdict::verified;
  if (facts.proven && !facts.plugged) return store::ValueVerdict::proven;
  return store::ValueVerdict::unverified;
}

std::set<std::int64_t> open_epochs(const std::vector<store::ReplayedPart>& parts) {
  std::set<std::int64_t> epochs;
  for (const store::ReplayedPart& part : parts) {
    const bool open = part.found == store::ValueVerdict::proven ||
                      part.found == store::ValueVerdict::unverified;
    if (part.part >= 0 && part.result.values_found > 0 && open) epochs.insert(part.part);
  }
  return epochs;
}

VerifyStep decide(const VerifyFacts& facts) {
  if (facts.verdict == store::Verdict::differs) return VerifyStep::doubt;
  if (facts.verdict == store::Verdict::failed || !facts.wanted) return VerifyStep::nothing;
  if (facts.nothing_nested || !facts.open) return VerifyStep::nothing;
  if (facts.of_rank) return facts.first_rank ? VerifyStep::tell_how : VerifyStep::nothing;
  return VerifyStep::plan;
}

}  // namespace flor::detail
