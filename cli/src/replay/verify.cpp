#include "replay/verify.h"

#include "output/time.h"
#include "replay/engine.h"
#include "replay/worker_process.h"
#include "verification.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <map>

namespace flor::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// All parts that were asked for, by whichever replay.
ReplayedParts parts_of(const ReplayOutcome& outcome) {
  ReplayedParts parts = outcome.earlier;
  for (const auto& [number, part] : outcome.done) parts[number] = part;
  return parts;
}

std::set<std::int64_t> unverified(const ReplayedParts& parts) {
  std::set<std::int64_t> epochs;
  for (const auto& [number, part] : parts) {
    const bool open = part.found == store::ValueVerdict::proven ||
                      part.found == store::ValueVerdict::unverified;
    if (number >= 0 && part.result.values_found > 0 && open) epochs.insert(number);
  }
  return epochs;
}

/// Those with the same question: what one began another may have finished.
std::set<std::int64_t> replays_that_answered(const store::Catalog& catalog,
                                             const ReplayRequest& request,
                                             const ReplayOutcome& outcome) {
  const std::string question =
      detail::question_of(outcome.digest, request.launch.arguments, request.order);
  std::set<std::int64_t> ids;
  for (const store::Replay& replay : catalog.replays(request.run.id)) {
    if (replay.start.question == question) ids.insert(replay.id);
  }
  return ids;
}

/// Returns why it did not come to the end of its epochs.
std::string execute(const ReplayRequest& request, const detail::WorkerOrder& order,
                    detail::VerifierTalk& talk) {
  std::map<std::string, std::string> variables;
  if (!request.gpus.empty()) variables["CUDA_VISIBLE_DEVICES"] = gpus_of_worker(request, 0);
  WorkerProcess worker(request.launch, order, variables, request.logs / "verifier.log");
  for (bool over = false; !over;) {
    std::vector<pollfd> events;
    for (const int event : worker.events()) events.push_back({event, POLLIN, 0});
    ::poll(events.data(), events.size(), 200);
    over = worker.ended().has_value();
    for (const std::string& line : worker.receive()) {
      for (const std::string& answer : talk.heed(detail::WorkerLine::decode(line))) {
        worker.send(answer);
      }
    }
  }
  if (talk.complete()) return {};
  const std::string words = worker.last_words();
  return words.empty() ? "the program ended before it had executed them" : words;
}

void note_verified(const std::set<std::int64_t>& epochs, const ReplayOutcome& outcome,
                   ReplaySummary& summary) {
  summary.found = {};
  for (auto [number, part] : parts_of(outcome)) {
    if (epochs.contains(number)) part.found = store::ValueVerdict::verified;
    summary.found.add(part);
  }
}

bool is_possible(const ReplayRequest& request, const ReplayOutcome& outcome,
                 const ReplaySummary& summary) {
  const bool wanted = request.verify && !request.verify->none();
  // What was answered before is verified when that is asked for.
  const bool asked = wanted && (request.verify->all || request.verify->count);
  if (!wanted || (outcome.done.empty() && !asked)) return false;
  if (outcome.interrupted || !outcome.missing.empty() || !outcome.failed.empty()) return false;
  return summary.total.verdict != store::Verdict::differs;
}

}  // namespace

void verify(store::Store& store, const ReplayRequest& request, const ReplayOutcome& outcome,
            ReplaySummary& summary) {
  if (!is_possible(request, outcome, summary)) return;
  const std::set<std::int64_t> candidates = unverified(parts_of(outcome));
  if (candidates.empty()) return;
  if (request.ranks.size() > 1 || !request.engine.is_local()) {
    summary.verification.push_back(
        fmt::format("{} are not verified by executing an epoch: the new values are {}",
                    request.ranks.size() > 1 ? "replays of a group" : "replays on other machines",
                    to_string(store::ValueVerdict::unverified)));
    return;
  }
  store::Catalog& catalog = store.catalog();
  detail::EpochTimes times =
      detail::epoch_times(catalog, request.run, request.order.strong);
  times.startup = request.facts.startup;
  const detail::VerifyPlan plan =
      detail::plan_verification(times, candidates, *request.verify, outcome.seconds);
  if (plan.too_long) {
    summary.verification.push_back(detail::verifying_hint(request.run, plan));
    return;
  }
  std::set<std::string> loops;
  for (const store::LoopExecution& execution : catalog.executions(request.run.id)) {
    loops.insert(execution.loop.substr(0, execution.loop.find('~')));
  }
  if (request.order.shows_what_is_stored() && loops.empty()) return;
  detail::WorkerOrder order = detail::verifying_order(request.order, loops);
  order.run = request.run.key;
  order.home = store.home().string();
  const auto replays = replays_that_answered(catalog, request, outcome);
  detail::VerifierTalk talk(replays.empty() ? 0 : *replays.rbegin(), plan.epochs);
  const auto began = Clock::now();
  if (const std::string why = execute(request, order, talk); !why.empty()) {
    summary.verification.push_back(fmt::format("executing {} to verify the new values failed: {}",
                                               detail::print_epochs(plan.epochs), why));
    return;
  }
  const detail::Verification found =
      detail::note_verification(catalog, request.run.id, replays, talk);
  if (!found.disagreement.empty()) {
    summary.total.verdict = store::Verdict::differs;
    summary.differences.push_back(found.disagreement);
    summary.found.doubt();
    return;
  }
  note_verified(found.epochs, outcome, summary);
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  summary.verification.push_back(fmt::format("{} executed beside it, in {}: the new values are "
                                             "the same",
                                             detail::print_epochs(plan.epochs), duration(seconds)));
}

}  // namespace flor::cli
