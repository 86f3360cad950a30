#include "replay/verify_replay.h"

#include "choose/run_spec.h"
#include "output/time.h"
#include "replay/worker_process.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <map>

namespace flor::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// The completed parts of this replay and earlier ones.
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

/// The replays that asked the same question: a later one may have completed what an earlier one
/// began.
std::set<std::int64_t> replays_that_answered(const store::Catalog& catalog,
                                             const ReplayRequest& request,
                                             const ReplayOutcome& outcome) {
  const std::string question =
      detail::question_of(outcome.digest, request.launch.arguments, request.order);
  std::set<std::int64_t> ids;
  for (const store::Replay& replay : catalog.replays(request.run.id)) {
    if (replay.start.question == question && replay.origin.recorded_here()) ids.insert(replay.id);
  }
  return ids;
}

std::set<std::string> nested_loops(const store::Catalog& catalog, const store::Run& run) {
  std::set<std::string> loops;
  for (const store::LoopExecution& execution : catalog.executions(run.id)) {
    loops.insert(execution.loop.substr(0, execution.loop.find('~')));
  }
  return loops;
}

void note_verified(const std::set<std::int64_t>& epochs, const ReplayOutcome& outcome,
                   ReplaySummary& summary) {
  summary.found = {};
  for (auto [number, part] : parts_of(outcome)) {
    if (epochs.contains(number)) part.found = store::ValueVerdict::verified;
    summary.found.add(part);
  }
}

}  // namespace

EpochVerifier::EpochVerifier(store::Store& store, const ReplayRequest& request, Progress& progress)
    : store_(store), request_(request), progress_(progress) {
  if (!wanted()) return;
  loops_ = nested_loops(store.catalog(), request.run);
  times_ = detail::epoch_times(store.catalog(), request.run, request.order.strong);
  times_.startup = request.facts.startup;
}

bool EpochVerifier::wanted() const { return request_.verify && !request_.verify->none(); }

/// Whether the user asked for verification. Otherwise parts that an earlier replay answered are not
/// verified.
bool EpochVerifier::asked() const {
  return wanted() && (request_.verify->all || request_.verify->count);
}

detail::VerifyPlan EpochVerifier::plan(const ReplayOutcome& outcome) const {
  const std::set<std::int64_t> candidates = unverified(parts_of(outcome));
  return detail::plan_verification(times_, candidates, *request_.verify, outcome.seconds);
}

/// Executes an epoch while others are still being replayed. If the user asked for several, waits
/// until the end, because the cheapest of all epochs are not known earlier.
void EpochVerifier::offer(const ReplayOutcome& so_far, int worker) {
  // The coordinator calls this after every event while a worker is free. Planning reads all results
  // so far, so it is done at most once a second.
  constexpr auto kPause = std::chrono::seconds(1);
  if (talk_ || !wanted() || asked() || so_far.replay == 0) return;
  if (Clock::now() - offered_ < kPause) return;
  offered_ = Clock::now();
  if (request_.ranks.size() > 1) return;
  if (request_.order.shows_what_is_stored() && loops_.empty()) return;
  plan_ = plan(so_far);
  if (plan_.epochs.empty() || plan_.too_long) return;
  start(so_far, worker);
}

void EpochVerifier::start(const ReplayOutcome& outcome, int number) {
  detail::WorkerOrder order = detail::verifying_order(request_.order, loops_);
  order.run = request_.run.key;
  order.home = store_.home().string();
  const auto replays = replays_that_answered(store_.catalog(), request_, outcome);
  talk_.emplace(replays.empty() ? outcome.replay : *replays.rbegin(), plan_.epochs);
  std::map<std::string, std::string> variables;
  if (!request_.gpus.empty()) {
    variables["CUDA_VISIBLE_DEVICES"] = gpus_of_worker(request_, number);
  }
  began_ = Clock::now();
  worker_ = std::make_unique<WorkerProcess>(request_.launch, order, variables,
                                            request_.logs / "verifier.log");
}

std::vector<int> EpochVerifier::events() const {
  return worker_ ? worker_->events() : std::vector<int>();
}

void EpochVerifier::look_after() {
  if (!worker_) return;
  const bool ended = worker_->ended().has_value();
  for (const std::string& line : worker_->receive()) {
    for (const std::string& answer : talk_->heed(detail::WorkerLine::decode(line))) {
      worker_->send(answer);
    }
  }
  if (!ended && !stopped_ && takes_too_long()) {
    stopped_ = true;
    worker_->kill(SIGKILL);
  }
  if (!ended) return;
  last_words_ = worker_->last_words();
  worker_.reset();
  seconds_ = std::chrono::duration<double>(Clock::now() - began_).count();
}

/// Whether the execution should be stopped. A program that reaches an epoch only by executing all
/// earlier ones takes longer than planned, which only the program knows; such a long wait needs the
/// user's request.
bool EpochVerifier::takes_too_long() const {
  constexpr double kTimes = 3, kLeast = 120;  // seconds
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  return !asked() && seconds > std::max(kTimes * plan_.seconds, kLeast);
}

bool EpochVerifier::is_possible(const ReplayOutcome& outcome, const ReplaySummary& summary) const {
  if (!wanted() || (outcome.done.empty() && !asked())) return false;
  if (outcome.interrupted || !outcome.missing.empty() || !outcome.failed.empty()) return false;
  return summary.total.verdict != store::Verdict::differs;
}

void EpochVerifier::conclude(const ReplayOutcome& outcome, ReplaySummary& summary) {
  if (!is_possible(outcome, summary)) return;
  if (!talk_) {
    if (unverified(parts_of(outcome)).empty()) return;
    if (request_.ranks.size() > 1) {
      summary.verification.push_back(detail::verifying_ranks_hint(request_.run, loops_));
      return;
    }
    if (!request_.engine.is_local()) {
      summary.verification.push_back(
          fmt::format("not verified by execution, which is done on this machine: flor replay {} "
                      "--verify",
                      short_key(request_.run)));
      return;
    }
    if (request_.order.shows_what_is_stored() && loops_.empty()) return;
    plan_ = plan(outcome);
    if (plan_.too_long) {
      summary.verification.push_back(detail::verifying_hint(request_.run, plan_));
      return;
    }
    if (const std::string notice = detail::verifying_notice(plan_); !notice.empty()) {
      progress_.say(notice);
    }
    start(outcome, 0);
  }
  while (!over()) {
    std::vector<pollfd> waiting;
    for (const int event : events()) waiting.push_back({event, POLLIN, 0});
    ::poll(waiting.data(), waiting.size(), 200);
    look_after();
  }
  compare(outcome, summary);
}

void EpochVerifier::compare(const ReplayOutcome& outcome, ReplaySummary& summary) {
  const std::string epochs = detail::print_epochs(plan_.epochs);
  if (stopped_) {
    summary.verification.push_back(
        fmt::format("not verified by execution: {} took over {}: flor replay {} --verify waits for "
                    "it",
                    epochs, duration(seconds_), short_key(request_.run)));
    return;
  }
  if (!talk_->complete()) {
    summary.verification.push_back(fmt::format(
        "executing {} to verify the new values failed: {}", epochs,
        last_words_.empty() ? "the program ended before it had executed them" : last_words_));
    return;
  }
  const detail::Verification found =
      detail::note_verification(store_.catalog(), request_.run.id,
                                replays_that_answered(store_.catalog(), request_, outcome), *talk_);
  if (!found.disagreement.empty()) {
    summary.total.verdict = store::Verdict::differs;
    summary.differences.push_back(found.disagreement);
    summary.found.doubt();
    return;
  }
  note_verified(found.epochs, outcome, summary);
  summary.verification.push_back(fmt::format(
      "{} executed beside it, in {}: the new values are the same", epochs, duration(seconds_)));
}

}  // namespace flor::cli
