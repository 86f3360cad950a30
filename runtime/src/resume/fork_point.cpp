#include "resume/fork_point.h"

#include "index/catalog/resume_point.h"
#include "protocol/plan.h"
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

std::pair<store::Run, std::optional<std::int64_t>> parent_of_fork(const store::Catalog& catalog,
                                                                  const std::string& text) {
  const std::size_t at = text.rfind('@');
  const auto epoch = at == text.npos ? std::nullopt : parse_epoch(text.substr(at + 1));
  return {resolve_for(catalog, epoch ? text.substr(0, at) : text, this_program()), epoch};
}

ForkPoint fork_point(const store::Store& store, const Flags& flags, bool is_rank) {
  if (is_rank) {
    throw UsageError("--flor_from: a program of several ranks cannot begin with the state of another "
                     "run: start it without");
  }
  const store::Catalog& catalog = store.catalog();
  (void)catalog.follow();
  auto [parent, epoch] = parent_of_fork(catalog, flags.from);
  if (parent.start.rank) {
    throw UsageError(fmt::format("--flor_from: run {} is that of one of {} ranks, and such runs "
                                 "cannot be forked: record a new run",
                                 parent.key.substr(0, 8), parent.start.rank->world));
  }
  const std::vector<store::ResumePoint> points = ends_of_epochs(catalog, parent.id);
  const auto found =
      std::ranges::find_if(points, [wanted = epoch](const store::ResumePoint& point) {
        return !wanted || point.epoch == *wanted + 1;
      });
  if (found == points.end()) throw_no_end(parent, epoch.value_or(0), points);
  store::ResumePoint point = *found;
  return {std::move(parent), std::move(point)};
}

}  // namespace flor::detail
