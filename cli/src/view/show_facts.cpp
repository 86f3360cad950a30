// Reads the facts of a run and of one of its epochs for flor show.
#include "view/show_facts.h"

#include "choose/run_spec.h"
#include "index/catalog/resume_point.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace flor::cli {

namespace {

/// The point from which all ranks of a group can resume; nullopt if there is none.
std::optional<store::ResumePoint> group_point(const store::Catalog& catalog, const store::Run& run,
                                              const std::vector<store::Run>& ranks) {
  const store::RunState state = catalog.group_state(run);
  if (state != store::RunState::interrupted && state != store::RunState::failed) {
    return std::nullopt;
  }
  std::vector<std::int64_t> ids;
  for (const store::Run& rank : ranks) ids.push_back(rank.id);
  const bool whole = static_cast<std::int64_t>(ids.size()) == run.start.rank->world;
  return whole ? store::common_resume_points(catalog, ids).front() : store::ResumePoint{};
}

/// Takes epochs that could not be stored out of the ranges of epochs that should have been.
std::vector<store::StorageDecision> with_gaps(const ShownRun& shown) {
  std::vector<store::StorageDecision> result;
  for (store::StorageDecision rest : shown.decisions) {
    for (const store::Gap& gap : shown.gaps) {
      const std::int64_t shift = shown.epoch_of(rest.main_loop, 0);
      const std::int64_t first = std::max(rest.first, gap.first - shift);
      const std::int64_t last = std::min(rest.last, gap.last - shift);
      if (first > last || !store::is_stored(rest.reason)) continue;
      store::StorageDecision before = rest, missing = rest;
      before.last = first - 1;
      missing.first = first;
      missing.last = last;
      missing.reason = store::StorageReason::degraded;
      if (before.first <= before.last) result.push_back(before);
      result.push_back(missing);
      rest.first = last + 1;
    }
    if (rest.first <= rest.last) result.push_back(rest);
  }
  return result;
}

bool is_there(const store::Catalog& catalog, const std::string& key) {
  try {
    catalog.resolve(key);
    return true;
  } catch (const NotFound&) {
    return false;
  }
}

/// One proof for each replay and environment.
std::vector<store::Proof> joined_proofs(std::vector<store::Proof> all) {
  std::vector<store::Proof> joined;
  for (store::Proof& proof : all) {
    const auto same = std::ranges::find_if(joined, [&](const store::Proof& known) {
      return known.replay == proof.replay && known.environment == proof.environment;
    });
    if (same == joined.end()) {
      joined.push_back(std::move(proof));
    } else {
      same->checkpoints.insert(same->checkpoints.end(), proof.checkpoints.begin(),
                               proof.checkpoints.end());
    }
  }
  return joined;
}

}  // namespace

ShownRun ShownRun::read(const store::Store& store, store::Run run) {
  const store::Catalog& catalog = store.catalog();
  const std::int64_t id = run.id;
  std::optional<store::ResumePoint> point;
  if (run.state == store::RunState::interrupted || run.state == store::RunState::failed) {
    point = store::find_resume_point(catalog, id);
  }
  std::optional<store::RunBuild> build = catalog.build(id);
  std::optional<detail::BuildRecipe> recipe;
  try {
    if (build) recipe = detail::BuildRecipe::decode(build->recipe);
  } catch (const Error& error) {
    fmt::print(stderr, "flor: run {}: {}\n", short_key(run), error.what());
  }
  std::vector<store::Run> ranks;
  if (run.start.rank) {
    ranks = catalog.ranks(run.start.rank->group);
    point = group_point(catalog, run, ranks);
  }
  ShownRun shown{std::move(run),          catalog.arguments(id),
                 catalog.main_loops(id),  catalog.iterations(id),
                 catalog.executions(id),  catalog.checkpoints(id),
                 catalog.metrics(id),     catalog.replays(id),
                 catalog.resumptions(id), std::move(point),
                 catalog.recording(id),   catalog.decisions(id),
                 catalog.gaps(id),        catalog.saved(id),
                 catalog.discarded(id),   joined_proofs(store::proofs(store, id)),
                 catalog.strategy(id),    std::move(build),
                 std::move(recipe),       std::move(ranks)};
  shown.decisions = with_gaps(shown);
  shown.forks = {catalog.fork(id), catalog.forks_of(shown.run.key)};
  shown.forks.is_parent_there = !shown.forks.from || is_there(catalog, shown.forks.from->parent);
  constexpr std::size_t kKin = 100;
  for (store::UsedFile& file : store::files_of(store, id)) {
    std::vector<store::FileKin> kin = store::kin_of(store, id, file, kKin);
    const auto is_same_answer = [&](const store::UsedFile& last) {
      return file.kind == store::UsedKind::query && last.kind == file.kind &&
             last.name == file.name && last.epoch == file.epoch && last.digest == file.digest;
    };
    if (!shown.files.all.empty() && is_same_answer(shown.files.all.back().file)) {
      std::ranges::move(kin, std::back_inserter(shown.files.all.back().kin));
    } else {
      shown.files.all.push_back({std::move(file), std::move(kin)});
    }
  }
  shown.files.readers = store::readers_of(store, shown.run.key, kKin);
  return shown;
}

std::string ShownRun::loop_name(std::int64_t ordinal) const {
  const auto loop = std::ranges::find(loops, ordinal, &store::MainLoop::ordinal);
  return loop == loops.end() ? fmt::format("loop {}", ordinal) : loop->name;
}

std::int64_t ShownRun::epoch_of(std::int64_t main_loop, std::int64_t iteration) const {
  const auto loop = std::ranges::find(loops, main_loop, &store::MainLoop::ordinal);
  return (loop == loops.end() ? 0 : loop->first_epoch) + iteration;
}

ShownEpoch ShownEpoch::read(const store::Catalog& catalog, const ShownRun& shown,
                            std::int64_t epoch) {
  ShownEpoch result;
  result.epoch = epoch;
  // The last main loop that begins at or before the epoch. A loop without iterations is superseded
  // by the next loop, which begins at the same epoch.
  for (const store::MainLoop& loop : shown.loops) {
    if (loop.first_epoch > epoch) continue;
    result.main_loop = loop.ordinal;
    result.iteration = epoch - loop.first_epoch;
  }
  store::ValueQuery query;
  query.run = shown.run.id;
  query.first_epoch = query.last_epoch = epoch;
  query.evaluated = true;
  result.values = catalog.values(query);
  const auto here = [&](const auto& row) {
    return row.main_loop == result.main_loop && row.iteration == result.iteration;
  };
  if (const auto found = std::ranges::find_if(shown.iterations, here);
      found != shown.iterations.end()) {
    result.timing = *found;
  }
  std::ranges::copy_if(shown.executions, std::back_inserter(result.executions), here);
  for (const store::CheckpointInfo& checkpoint : shown.checkpoints) {
    const store::CheckpointKey& key = checkpoint.key;
    const bool after = key.kind == store::CheckpointKind::boundary &&
                       key.main_loop == result.main_loop && key.iteration == result.iteration + 1;
    if (here(key) || after) result.checkpoints.push_back(checkpoint);
  }
  for (const store::StorageDecision& decision : shown.decisions) {
    const bool covers = decision.main_loop == result.main_loop &&
                        decision.first <= result.iteration && result.iteration <= decision.last;
    if (covers) result.decision = decision;
  }
  if (!result.timing && result.values.empty() && result.executions.empty()) {
    const std::string has = shown.run.epochs == 0
                                ? "it completed none"
                                : fmt::format("it has 0..{}", shown.run.epochs - 1);
    throw NotFound(fmt::format("run {} has no epoch {}: {}", title(shown.run), epoch, has));
  }
  return result;
}

}  // namespace flor::cli
