// The verdict of a replay's new values: by the sources, and by executing some of the epochs.
#include "base/notice.h"
#include "base/process_facts.h"
#include "ranks/ranks.h"
#include "replay/replayer.h"

#include <fmt/format.h>

namespace flor::detail {

store::ValueVerdict Replayer::verdict_of_new(const store::ReplayResult& part, bool whole) const {
  if (probes_->computes_otherwise()) return store::ValueVerdict::doubtful;
  const bool compared = part.values_compared + part.states_compared > 0;
  if (whole && compared) return store::ValueVerdict::verified;
  // The sources do not show which state a plug-in reads.
  const bool proven = probes_->proof().proven && flags_.plugin.empty();
  return proven ? store::ValueVerdict::proven : store::ValueVerdict::unverified;
}

FoundValues Replayer::found_values() const {
  FoundValues found;
  for (const store::ReplayedPart& part : parts_) found.add(part);
  return found;
}

void Replayer::verify(store::ReplayResult& result, FoundValues& found) {
  if (result.verdict == store::Verdict::differs) return found.doubt();
  if (result.verdict == store::Verdict::failed || flags_.verify.none()) return;
  if (flags_.shows_what_is_stored() && record_->nested_loops().empty()) return;
  std::set<std::int64_t> candidates;
  for (const store::ReplayedPart& part : parts_) {
    const bool open = part.found == store::ValueVerdict::proven ||
                      part.found == store::ValueVerdict::unverified;
    if (part.part >= 0 && part.result.values_found > 0 && open) candidates.insert(part.part);
  }
  if (run_.start.rank) {
    const bool speaks = ranks_here().value_or(Ranks{}).is_first();
    if (!candidates.empty() && speaks) {
      say(Level::result, verifying_ranks_hint(run_, record_->nested_loops()));
    }
    return;
  }
  EpochTimes times = epoch_times(store_->catalog(), run_, probes_->walks());
  times.startup = std::max(prologue_seconds_, 0.0);
  const VerifyPlan plan =
      plan_verification(times, candidates, flags_.verify, seconds_since(began_));
  if (plan.epochs.empty()) return;
  if (plan.too_long) return say(Level::result, verifying_hint(run_, plan));
  if (const std::string notice = verifying_notice(plan); !notice.empty()) {
    say(Level::result, notice);
  }
  execute(plan, result, found);
}

void Replayer::execute(const VerifyPlan& plan, store::ReplayResult& result, FoundValues& found) {
  const auto began = Clock::now();
  WorkerOrder order = verifying_order(question(), record_->nested_loops());
  order.run = run_.key;
  order.home = store_->home().string();
  order.sources = flags_.sources;
  order.as_recorded = flags_.as_recorded;
  VerifierTalk talk(replay_, plan.epochs);
  if (const std::string why = run_verifier(start_, order, talk); !why.empty()) {
    return say(Level::warn, fmt::format("executing {} to verify the new values failed: {}",
                                        print_epochs(plan.epochs), why));
  }
  const Verification verification =
      note_verification(store_->catalog(), run_.id, {replay_}, talk);
  if (!verification.disagreement.empty()) {
    result.verdict = store::Verdict::differs;
    found.doubt();
    return say(Level::error,
               fmt::format("differs: {}: --flor_probe LOOP executes the loops that leave it behind",
                           verification.disagreement));
  }
  found = {};
  for (store::ReplayedPart part : parts_) {
    if (verification.epochs.contains(part.part)) part.found = store::ValueVerdict::verified;
    found.add(part);
  }
  say(Level::result, fmt::format("{} executed beside it, in {}: the new values are the same",
                                 print_epochs(plan.epochs), print_seconds(seconds_since(began))));
}

}  // namespace flor::detail
