#include "resume/fork_point.h"

#include "index/catalog/resume_point.h"
#include "session/run_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace flor::detail {
namespace {

/// The ends of epochs at which the run can be forked, the latest first.
std::vector<store::ResumePoint> ends_of_epochs(const store::Catalog& catalog, std::int64_t run) {
  std::vector<store::ResumePoint> points = store::resume_points(catalog, run);
  std::erase_if(points, [](const store::ResumePoint& point) {
    return !point.boundary || !point.loop.empty() || point.iteration == 0;
  });
  return points;
}

[[noreturn]] void throw_no_end(const store::Run& run, std::int64_t epoch,
                               const std::vector<store::ResumePoint>& points) {
  const std::string key = run.key.substr(0, 8);
  if (epoch >= run.epochs) {
    throw NotFound(run.epochs == 0 ? fmt::format("run {} has no complete epoch", key)
                                   : fmt::format("run {} has no epoch {}: its epochs are 0..{}",
                                                 key, epoch, run.epochs - 1));
  }
  std::string nearest;
  for (const store::ResumePoint& point : points) {  // falling
    const std::int64_t end = point.epoch - 1;
    if (end > epoch) nearest = fmt::format("{}@{}", key, end);
    if (end >= epoch) continue;
    nearest = fmt::format("{}@{}{}{}", key, end, nearest.empty() ? "" : " or ", nearest);
    break;
  }
  throw NotFound(fmt::format(
      "the state after epoch {} of run {} is not stored{}", epoch, key,
      nearest.empty() ? std::string(": record it with --flor_every 1 to fork any of its epochs")
                      : fmt::format("; the nearest ones: --flor_from {}", nearest)));
}

}  // namespace

store::RunAndPlace parent_of_fork(const store::Catalog& catalog, const std::string& text) {
  return store::run_and_place(
      text, [&](std::string_view run) { return resolve_for(catalog, run, this_program()); });
}

namespace {

/// The epoch that is named, if one is.
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

ForkPoint fork_point(const store::Store& store, const Flags& flags, bool is_rank) {
  if (is_rank) {
    throw UsageError("--flor_from: a program of several ranks cannot begin with the state of another "
                     "run: start it without");
  }
  const store::Catalog& catalog = store.catalog();
  (void)catalog.follow();
  store::RunAndPlace named = parent_of_fork(catalog, flags.from);
  if (named.run.start.rank) {
    throw UsageError(fmt::format("--flor_from: run {} is that of one of {} ranks, and such runs "
                                 "cannot be forked: record a new run",
                                 named.run.key.substr(0, 8), named.run.start.rank->world));
  }
  const std::optional<std::int64_t> epoch = epoch_of_fork(store, named);
  store::Run parent = std::move(named.run);
  const std::vector<store::ResumePoint> points = ends_of_epochs(catalog, parent.id);
  const auto found =
      std::ranges::find_if(points, [&](const store::ResumePoint& point) {
        return !epoch || point.epoch == *epoch + 1;
      });
  if (found == points.end()) throw_no_end(parent, epoch.value_or(0), points);
  store::ResumePoint point = *found;
  return {std::move(parent), std::move(point)};
}

}  // namespace flor::detail
