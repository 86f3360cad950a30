#include "hindsight/walks.h"

#include "choose/run_spec.h"
#include "maintain/shared_view.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/program_of_run.h"
#include "shell/context.h"

#include <flor/store/digest.h>
#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace flor::cli {
namespace {

/// The program that recorded the runs: the file itself, or, if that is another one by now, what is
/// built from the recorded sources. Of a script, the process tells whether the sources are the
/// recorded ones.
ChosenLaunches own_program(Context& context, const std::vector<store::Run>& ranks, bool trust) {
  Gate gate(context, Gate::Use::replay, trust);
  std::vector<Permit> permits;
  for (const store::Run& rank : ranks) {
    require_program(rank);
    permits.push_back(gate.pass(rank));
  }
  const store::Run& run = ranks.front();
  const bool script = !detail::interpreter_of(run).empty();
  const bool same = !script && store::file_digest(run.start.program) == run.start.program_digest;
  ProgramWish wish;
  wish.own = !script && !same;
  ProgramChoice choice = choose_program(context, run, permits.front(), wish);
  ChosenLaunches chosen;
  chosen.as_recorded = same;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    chosen.launches.push_back(launch_of(ranks[i], choice, permits[i], std::nullopt));
  }
  if (!choice.version) return chosen;
  chosen.sources = choice.version->built.sources.string();
  chosen.version = std::make_shared<VersionWithTree>(std::move(*choice.version));
  return chosen;
}

ReplayRequest walk_request(Context& context, const store::Run& run, ReplayWish wish, bool trust) {
  wish.check = true;  // all loops are executed, and nothing is taken from earlier answers
  ReplayRequest request = replay_request(
      context, run, std::nullopt, wish,
      [&](const std::vector<store::Run>& ranks) { return own_program(context, ranks, trust); });
  std::erase_if(request.asked, [](std::int64_t part) { return part < 0; });
  return request;
}

/// The epochs of all stretches between two starts in which something may be dropped.
std::set<std::int64_t> epochs_of(const RunFacts& facts, const store::WalkPlan& plan) {
  std::set<std::int64_t> epochs;
  for (const store::WalkPlan::Unit& unit : plan.units) {
    const LoopFacts& loop = facts.loops.at(static_cast<std::size_t>(unit.after.main_loop));
    const auto next = loop.boundaries.upper_bound(unit.after.iteration);
    const std::int64_t end = next == loop.boundaries.end() ? loop.iterations : *next;
    const std::int64_t begin = next == loop.boundaries.begin() ? 0 : *std::prev(next);
    for (std::int64_t i = begin; i < end; ++i) epochs.insert(loop.first_epoch + i);
  }
  return epochs;
}

/// Seconds that the program needs before its first loop, as far as the record tells.
double startup_of(const store::Catalog& catalog, const store::Run& run, const RunFacts& facts) {
  return catalog.resumptions(run.id).empty() ? facts.startup : 0;
}

}  // namespace

ExitStatus ProvenRun::status() const { return replay ? replay->status() : ExitStatus::done; }

ProvenRun prove_run(Context& context, const store::Run& run, const store::WalkWish& wish,
                    std::optional<std::uint64_t> workers, bool trust) {
  store::Store& store = context.store_to_change();
  store::WalkWish walks = wish;
  walks.within -= startup_of(store.catalog(), run, replay_facts(store.catalog(), run, {}));
  if (!(walks.within > 0)) {
    throw UsageError(fmt::format("--within {}: the program alone takes {} before its first loop",
                                 duration(wish.within), duration(wish.within - walks.within)));
  }
  ProvenRun proven{store::plan_walks(store, run.id, walks), {}, 0};
  if (proven.plan.units.empty()) return proven;
  ReplayWish replay;
  replay.workers = workers;
  ReplayRequest request = walk_request(context, run, std::move(replay), trust);
  request.order.walk.proves = true;
  for (LoopFacts& loop : request.facts.loops) loop.boundaries.clear();
  for (const store::WalkStart& start : proven.plan.starts) {
    request.order.walk.starts.emplace_back(start.main_loop, start.iteration);
    request.facts.loops.at(static_cast<std::size_t>(start.main_loop))
        .boundaries.insert(start.iteration);
  }
  request.asked = epochs_of(request.facts, proven.plan);
  request.epoch_order = EpochOrder::walks;
  request.proved = [&](std::int64_t id, const detail::ProvedStates& states) {
    proven.dropped += store::drop_proven(
        store, run.id, proven.plan,
        {store::key_of_replay(store, id), states.checkpoints, states.environment});
  };
  proven.replay = replay_run(context, std::move(request));
  return proven;
}

std::optional<ComputedAgain> compute_again(Context& context, const store::Run& run,
                                           std::int64_t epoch, bool trust) {
  store::Store& store = context.store_to_change();
  const std::vector<store::MainLoop> loops = store.catalog().main_loops(run.id);
  std::vector<store::CheckpointName> gone;
  std::int64_t last = epoch;
  for (const store::DiscardedCheckpoint& deleted : store.catalog().discarded(run.id)) {
    const store::CheckpointKey& key = deleted.info.key;
    const auto loop = std::ranges::find(loops, key.main_loop, &store::MainLoop::ordinal);
    const bool boundary = key.kind == store::CheckpointKind::boundary;
    const bool begin = key.loop.ends_with("@begin");  // of a loop in the next epoch
    const bool of_loops = boundary || key.kind == store::CheckpointKind::loop_end;
    if (loop == loops.end() || !deleted.collected_us || !of_loops) continue;
    if (loop->first_epoch + key.iteration - (boundary || begin ? 1 : 0) != epoch) continue;
    gone.push_back({key, deleted.info.digest});
    if (begin) last = epoch + 1;
  }
  if (gone.empty()) return std::nullopt;
  if (store::is_on_network(store.home())) {
    throw UsageError(
        fmt::format("epoch {} of run {} cannot be stored again in a home on a network "
                    "file system: `flor replay` computes what it is needed for",
                    epoch, short_key(run)));
  }
  ReplayWish replay;
  replay.workers = 1;
  replay.epochs = fmt::format("{}..{}", epoch, last);
  ReplayRequest request = walk_request(context, run, std::move(replay), trust);
  request.order.walk.returns = gone;
  ComputedAgain again{replay_run(context, std::move(request)), 0};
  for (const store::CheckpointName& name : gone) {
    const auto there = store.catalog().checkpoint(run.id, name.key);
    again.stored += there && there->digest == name.digest ? 1 : 0;
  }
  return again;
}

}  // namespace flor::cli
