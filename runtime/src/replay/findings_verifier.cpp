#include "replay/findings_verifier.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "protocol/verification.h"
#include "protocol/ranks.h"
#include "verdict/new_values.h"
#include "session/runtime.h"

#include <fmt/format.h>

#include <set>
#include <string>

namespace flor::detail {
namespace {

void execute(const EndedReplay& replay, const VerifyPlan& plan,
             const std::vector<store::ReplayedPart>& parts, store::ReplayResult& result,
             FoundValues& found) {
  const auto began = Clock::now();
  WorkerOrder order = verifying_order(replay.question, replay.record.nested_loops());
  order.run = replay.run.key;
  order.home = replay.store.home().string();
  order.sources = replay.flags.sources;
  order.as_recorded = replay.flags.as_recorded;
  VerifierTalk talk(replay.id, plan.epochs);
  if (const std::string why = run_verifier(replay.start, order, talk); !why.empty()) {
    return say(Level::warn, fmt::format("executing {} to verify the new values failed: {}",
                                        print_epochs(plan.epochs), why));
  }
  const Verification verification =
      note_verification(replay.store.catalog(), replay.run.id, {replay.id}, talk);
  if (!verification.disagreement.empty()) {
    result.verdict = store::Verdict::differs;
    found.doubt();
    return say(Level::error,
               fmt::format("differs: {}: --flor_probe LOOP executes the loops that leave it behind",
                           verification.disagreement));
  }
  found = {};
  for (store::ReplayedPart part : parts) {
    if (verification.epochs.contains(part.part)) part.found = store::ValueVerdict::verified;
    found.add(part);
  }
  say(Level::result, fmt::format("{} executed beside it, in {}: the new values are the same",
                                 print_epochs(plan.epochs), print_seconds(seconds_since(began))));
}

void plan_and_execute(const EndedReplay& replay, const std::set<std::int64_t>& open,
                      const std::vector<store::ReplayedPart>& parts, store::ReplayResult& result,
                      FoundValues& found) {
  EpochTimes times = epoch_times(replay.store.catalog(), replay.run, replay.walks);
  times.startup = replay.startup;
  const VerifyPlan plan = plan_verification(times, open, replay.flags.verify, replay.seconds);
  if (plan.epochs.empty()) return;
  if (plan.too_long) return say(Level::result, verifying_hint(replay.run, plan));
  if (const std::string notice = verifying_notice(plan); !notice.empty()) {
    say(Level::result, notice);
  }
  execute(replay, plan, parts, result, found);
}

}  // namespace

void verify_findings(const EndedReplay& replay, const std::vector<store::ReplayedPart>& parts,
                     store::ReplayResult& result, FoundValues& found) {
  const std::set<std::int64_t> open = open_epochs(parts);
  const std::set<std::string>& loops = replay.record.nested_loops();
  const bool of_rank = replay.run.start.rank.has_value();
  const VerifyStep step =
      decide({.verdict = result.verdict,
              .wanted = !replay.flags.verify.none(),
              .nothing_nested = replay.flags.shows_what_is_stored() && loops.empty(),
              .open = !open.empty(),
              .of_rank = of_rank,
              .first_rank = of_rank && ranks_here().value_or(Ranks{}).is_first()});
  switch (step) {
    case VerifyStep::doubt:
      return found.doubt();
    case VerifyStep::nothing:
      return;
    case VerifyStep::tell_how:
      return say(Level::result, verifying_ranks_hint(replay.run, loops));
    case VerifyStep::plan:
      return plan_and_execute(replay, open, parts, result, found);
  }
}

}  // namespace flor::detail
