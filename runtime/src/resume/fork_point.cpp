#include "resume/fork_point.h"

#include "index/catalog/resume_point.h"
#include "protocol/ranks.h"
#include "retention/checkpoint_address.h"
#include "session/run_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::detail {
namespace {

/// The ends of epochs at which the run can be forked with all of its ranks, the latest first.
std::vector<store::ResumePoint> ends_of_epochs(const store::Catalog& catalog,
                                               const store::Run& run) {
  std::vector<std::int64_t> runs{run.id};
  if (run.start.rank) {
    runs.clear();
    for (const store::Run& rank : catalog.ranks(run.start.rank->group)) runs.push_back(rank.id);
  }
  std::vector<store::ResumePoint> points = store::common_resume_points(catalog, runs);
  std::erase_if(points, [](const store::ResumePoint& point) {
    return !point.boundary || !point.loop.empty() || point.iteration == 0;
  });
  return points;
}

[[noreturn]] void throw_no_end(const store::Catalog& catalog, const store::Run& run,
                               std::int64_t epoch, const std::vector<store::ResumePoint>& points) {
  const std::string key = run.key.substr(0, 8);
  if (epoch >= run.epochs) {
    throw NotFound(run.epochs == 0 ? fmt::format("run {} has no complete epoch", key)
                                   : fmt::format("run {} has no epoch {}: its epochs are 0..{}",
                                                 key, epoch, run.epochs - 1));
  }
  std::string nearest;
  for (const store::ResumePoint& point : points) {  // from the latest on
    const std::int64_t end = point.epoch - 1;
    if (end > epoch) nearest = fmt::format("{}@{}", key, end);
    if (end >= epoch) continue;
    nearest = fmt::format("{}@{}{}{}", key, end, nearest.empty() ? "" : " or ", nearest);
    break;
  }
  const std::string way = store::way_back(catalog, run, epoch);
  if (!way.empty()) {
    throw NotFound(fmt::format("the state after epoch {} of run {} is not stored: {}{}", epoch, key,
                               way, nearest.empty() ? "" : "; the nearest ones: " + nearest));
  }
  throw NotFound(fmt::format(
      "the state after epoch {} of run {} is not stored{}", epoch, key,
      nearest.empty() ? std::string(": record it with --flor_every 1 to fork any of its epochs")
                      : fmt::format("; the nearest ones: --flor_from {}", nearest)));
}

}  // namespace

store::ResumePoint point_of_fork(const store::Fork& fork) {
  return {.main_loop = fork.main_loop,
          .iteration = fork.iteration,
          .epoch = fork.epoch,
          .boundary = true};
}

store::RunAndPlace parent_of_fork(const store::Catalog& catalog, const std::string& text) {
  return store::run_and_place(
      text, [&](std::string_view run) { return resolve_for(catalog, run, this_program()); });
}

namespace {

/// The epoch that is named; nothing if none is.
std::optional<std::int64_t> epoch_of_fork(const store::Store& store,
                                          const store::RunAndPlace& parent) {
  if (parent.place.empty()) return std::nullopt;
  store::ChosenPlace place = store::find_place(store, parent.run, parent.place);
  if (place.epoch) return place.epoch;
  const std::string key = parent.run.key.substr(0, 8);
  throw UsageError(fmt::format(
      "--flor_from: {}@{} is a checkpoint that the program saved, and a run begins with the state "
      "after an epoch: --flor_from {}@EPOCH, or {}@latest",
      key, place.saved, key, key));
}

}  // namespace

void require_all_ranks(const store::Catalog& catalog, const store::Run& run) {
  if (!run.start.rank) return;
  const auto there = static_cast<std::int64_t>(catalog.ranks(run.start.rank->group).size());
  if (there == run.start.rank->world) return;
  throw NotFound(fmt::format("--flor_from: of the {} ranks of run {} only {} are in the store",
                             run.start.rank->world, run.key.substr(0, 8), there));
}

ForkPoint fork_point(const store::Store& store, const Flags& flags) {
  const store::Catalog& catalog = store.catalog();
  (void)catalog.follow();
  store::RunAndPlace named = parent_of_fork(catalog, flags.from);
  // A run that was imported with a checkpoint can be forked, one of a log cannot.
  if (catalog.checkpoints(named.run.id).empty()) require_recording_program(named.run, "fork");
  const std::optional<std::int64_t> epoch = epoch_of_fork(store, named);
  store::Run parent = run_of_this_rank(catalog, std::move(named.run), "fork");
  require_all_ranks(catalog, parent);
  const std::vector<store::ResumePoint> points = ends_of_epochs(catalog, parent);
  const auto found = std::ranges::find_if(
      points, [&](const store::ResumePoint& point) { return !epoch || point.epoch == *epoch + 1; });
  if (found == points.end()) throw_no_end(catalog, parent, epoch.value_or(0), points);
  store::ResumePoint point = *found;
  return {std::move(parent), std::move(point)};
}

std::optional<ForkPoint> fork_point_of_group(const store::Catalog& catalog, std::int64_t first) {
  const std::optional<store::Fork> fork = catalog.fork(first);
  if (!fork) return std::nullopt;
  store::Run parent = run_of_this_rank(catalog, catalog.resolve(fork->parent), "fork");
  for (store::ResumePoint& point : store::resume_points(catalog, parent.id)) {
    if (store::is_same_place(point, point_of_fork(*fork))) {
      return ForkPoint{std::move(parent), std::move(point)};
    }
  }
  throw NotFound(
      fmt::format("the group begins with the end of epoch {} of run {}, which this rank "
                  "has not stored",
                  fork->epoch - 1, parent.key.substr(0, 8)));
}

}  // namespace flor::detail
