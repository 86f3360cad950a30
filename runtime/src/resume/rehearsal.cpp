#include "resume/rehearsal.h"

#include "index/catalog/resume_point.h"
#include "resume/fork_point.h"
#include "state/registry.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace flor::detail {
namespace {

using store::CheckpointInfo;
using store::CheckpointKind;

/// Names and content digests of attached locals.
using Locals = std::vector<std::pair<std::string, store::Digest>>;

/// The stored checkpoints of one nested loop, by iteration.
struct Stored {
  std::map<std::int64_t, std::int64_t> begins, ends;  ///< ids of checkpoints, by iteration
  std::int64_t last = -1;                             ///< last iteration that executed the loop
};

class Finder {
 public:
  Finder(const store::Store& store, std::int64_t run, const store::ResumePoint& point)
      : store_(store), point_(point) {
    for (const store::LoopExecution& execution : store.catalog().executions(run)) {
      if (execution.main_loop != point.main_loop || execution.iteration >= point.iteration)
        continue;
      Stored& stored = loops_[execution.loop];
      stored.last = std::max(stored.last, execution.iteration);
    }
    for (const CheckpointInfo& info : store.catalog().checkpoints(run)) {
      const store::CheckpointKey& key = info.key;
      if (key.kind != CheckpointKind::loop_end || key.main_loop != point.main_loop ||
          key.iteration >= point.iteration) {
        continue;
      }
      const std::string loop = key.loop.substr(0, key.loop.find('@'));
      Stored& stored = loops_[loop];
      (loop == key.loop ? stored.ends : stored.begins)[key.iteration] = info.id;
    }
  }

  Rehearsal find() const {
    Rehearsal rehearsal{.first = point_.iteration, .unknown = {}};
    for (const auto& [name, stored] : loops_) {
      if (stored.last < 0 || stored.begins.empty()) continue;  // the loop has no attached locals
      if (is_set_by_iteration(stored)) continue;
      if (!stored.ends.contains(stored.last)) {
        rehearsal.unknown.push_back(name);
      } else {
        rehearsal.first = std::min(rehearsal.first, stored.last);
      }
    }
    return rehearsal;
  }

 private:
  Locals locals(std::int64_t checkpoint) const {
    const store::CheckpointReader reader(store_, checkpoint);
    Locals locals;
    for (std::size_t i = 0; i < reader.items().size(); ++i) {
      if (reader.items()[i].name.starts_with(kAttachedPrefix)) {
        locals.emplace_back(reader.items()[i].name, reader.digest(i));
      }
    }
    return locals;
  }

  bool is_set_by_iteration(const Stored& stored) const {
    const Locals first = locals(stored.begins.begin()->second);
    // The locals ended with their initial values, which the program has given them again.
    if (const auto end = stored.ends.find(stored.last); end != stored.ends.end() &&
                                                        stored.begins.begin()->first == 0 &&
                                                        locals(end->second) == first) {
      return true;
    }
    const auto& [iteration, begin] = *stored.begins.rbegin();
    const auto before = stored.ends.lower_bound(iteration);
    if (before == stored.ends.begin()) return false;
    return locals(begin) == first && locals(std::prev(before)->second) != first;
  }

  const store::Store& store_;
  const store::ResumePoint& point_;
  std::map<std::string, Stored> loops_;
};

}  // namespace

Rehearsal find_rehearsal(const store::Store& store, std::int64_t run,
                         const store::ResumePoint& point) {
  if (!point.boundary || point.iteration == 0) return {.first = point.iteration, .unknown = {}};
  return Finder(store, run, point).find();
}

ResumePlan plan_resume(const store::Store& store, std::int64_t run, bool inside) {
  std::optional<ResumePlan> latest;
  std::int64_t limit = INT64_MAX;
  for (int i = 0; i < store::kResumeTries; ++i) {
    ResumePlan plan{.point = store::find_resume_point(store.catalog(), run, limit, inside),
                    .rehearsal = {}};
    plan.rehearsal = find_rehearsal(store, run, plan.point);
    if (plan.rehearsal.unknown.empty()) return plan;
    limit = plan.point.iteration - 1;
    if (!latest) latest = std::move(plan);
  }
  return *std::move(latest);
}

ResumePlan plan_resume_at(const store::Store& store, std::int64_t run,
                          const store::ResumePoint& place) {
  const auto points = store::resume_points(store.catalog(), run);
  const auto own = std::ranges::find_if(
      points, [&](const store::ResumePoint& point) { return store::is_same_place(point, place); });
  if (own == points.end()) {
    throw NotFound(fmt::format("the group goes on at {}, where this rank has no checkpoint",
                               store::print_point(place)));
  }
  return {.point = *own, .rehearsal = find_rehearsal(store, run, *own)};
}

namespace {

store::ResumePoint beginning_of(const store::Catalog& catalog, std::int64_t run) {
  const std::optional<store::Fork> fork = catalog.fork(run);
  return fork ? point_of_fork(*fork) : store::ResumePoint();
}

}  // namespace

store::ResumePoint plan_group_resume(const store::Store& store, std::int64_t group, bool inside) {
  const std::vector<store::Run> ranks = store.catalog().ranks(group);
  const bool all =
      !ranks.empty() && static_cast<std::int64_t>(ranks.size()) == ranks.front().start.rank->world;
  if (!all) return beginning_of(store.catalog(), group);  // one of the ranks has not even begun
  std::vector<std::int64_t> runs;
  for (const store::Run& run : ranks) runs.push_back(run.id);
  auto points = store::common_resume_points(store.catalog(), runs);
  if (!inside) {
    std::erase_if(points, [](const store::ResumePoint& point) { return !point.loop.empty(); });
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(store::kResumeTries, points.size()); ++i) {
    const bool exact = std::ranges::all_of(runs, [&](std::int64_t run) {
      return find_rehearsal(store, run, points[i]).unknown.empty();
    });
    if (exact) return points[i];
  }
  return points.front();
}

}  // namespace flor::detail
