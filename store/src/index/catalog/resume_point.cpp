#include "index/catalog/resume_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace flor::store {
namespace {

/// Returns the point inside the iteration after the boundary `point`, if a checkpoint inside it is
/// stored.
std::optional<ResumePoint> step_after(const ResumePoint& point,
                                      const std::vector<CheckpointInfo>& checkpoints,
                                      const std::vector<LoopExecution>& executions) {
  ResumePoint inside = point;
  for (const CheckpointInfo& info : checkpoints) {  // the last match counts
    if (info.key.kind != CheckpointKind::step || info.key.main_loop != point.main_loop ||
        info.key.iteration != point.iteration) {
      continue;
    }
    if (const auto name = parse_step_name(info.key.loop)) {
      inside.loop = name->loop;
      inside.step = name->step;
    }
  }
  if (inside.loop.empty()) return std::nullopt;
  for (const LoopExecution& execution : executions) {
    if (execution.main_loop != point.main_loop || execution.iteration != point.iteration) continue;
    if (execution.loop == inside.loop) break;
    inside.kept.push_back(execution.loop);
  }
  return inside;
}

/// Returns the stored boundaries of one main loop.
std::set<std::int64_t> boundaries(const std::vector<CheckpointInfo>& checkpoints,
                                  std::int64_t main_loop) {
  std::set<std::int64_t> iterations;
  for (const CheckpointInfo& info : checkpoints) {
    if (info.key.kind == CheckpointKind::boundary && info.key.main_loop == main_loop) {
      iterations.insert(info.key.iteration);
    }
  }
  return iterations;
}

}  // namespace

std::string step_name(std::string_view loop, std::int64_t step) {
  return fmt::format("{}@{}", loop, step);
}

std::optional<StepName> parse_step_name(std::string_view name) {
  const std::size_t at = name.find('@');
  if (at == name.npos) return std::nullopt;
  StepName result{.loop = std::string(name.substr(0, at))};
  const std::string_view digits = name.substr(at + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), result.step);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return result;
}

std::vector<ResumePoint> resume_points(const Catalog& catalog, std::int64_t run) {
  const std::vector<MainLoop> loops = catalog.main_loops(run);
  const std::vector<CheckpointInfo> checkpoints = catalog.checkpoints(run);
  const std::vector<LoopExecution> executions = catalog.executions(run);
  const auto boundaries_of = [&](std::size_t i) {
    return i < loops.size() ? boundaries(checkpoints, loops[i].ordinal) : std::set<std::int64_t>();
  };
  std::vector<ResumePoint> points(1);  // begins with the beginning of the run
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const MainLoop& loop = loops[i];
    const std::set<std::int64_t> stored = boundaries_of(i);
    for (const std::int64_t iteration : stored) {
      // A boundary may be durable before its iteration is recorded as complete, so it is not used.
      // A loop that was left by `break` must not be resumed.
      const bool left = loop.ended && loop.broke;
      if (iteration > loop.iterations || (left && iteration == loop.iterations)) break;
      points.push_back({.main_loop = loop.ordinal,
                        .iteration = iteration,
                        .epoch = loop.first_epoch + iteration,
                        .boundary = true});
      if (auto inside = step_after(points.back(), checkpoints, executions)) {
        points.push_back(*std::move(inside));
      }
    }
    // A loop that was left by an exception counts as over only if a state after it is stored.
    const bool over = loop.ended || !boundaries_of(i + 1).empty();
    if (!over || !stored.contains(loop.iterations)) break;
    points.push_back({.main_loop = loop.ordinal + 1, .epoch = loop.first_epoch + loop.iterations});
  }
  std::ranges::reverse(points);
  return points;
}

bool is_same_place(const ResumePoint& a, const ResumePoint& b) {
  return a.main_loop == b.main_loop && a.iteration == b.iteration && a.boundary == b.boundary &&
         a.loop == b.loop && a.step == b.step;
}

std::vector<ResumePoint> common_resume_points(const Catalog& catalog,
                                              std::span<const std::int64_t> runs) {
  std::vector<ResumePoint> common =
      runs.empty() ? std::vector<ResumePoint>(1) : resume_points(catalog, runs.front());
  for (const std::int64_t run : runs.subspan(std::min<std::size_t>(runs.size(), 1))) {
    const std::vector<ResumePoint> points = resume_points(catalog, run);
    std::erase_if(common, [&](const ResumePoint& point) {
      return std::ranges::none_of(
          points, [&](const ResumePoint& other) { return is_same_place(point, other); });
    });
  }
  return common;
}

ResumePoint find_resume_point(const Catalog& catalog, std::int64_t run, std::int64_t latest,
                              bool inside) {
  const std::vector<ResumePoint> points = resume_points(catalog, run);
  const std::int64_t interrupted = points.front().main_loop;
  return *std::ranges::find_if(points, [&](const ResumePoint& point) {
    if (!inside && !point.loop.empty()) return false;
    return point.main_loop < interrupted || point.iteration <= latest || !point.boundary;
  });
}

std::optional<CheckpointInfo> step_before(const Catalog& catalog, std::int64_t run,
                                          const ResumePoint& point) {
  if (!point.boundary) return std::nullopt;
  const std::int64_t iteration = point.iteration - (point.loop.empty() ? 1 : 0);
  std::map<std::string, std::int64_t> ends{{point.loop, point.step}};
  if (point.loop.empty()) {
    for (const LoopExecution& execution : catalog.executions(run)) {
      if (execution.main_loop == point.main_loop && execution.iteration == iteration) {
        ends[execution.loop] = execution.iterations;
      }
    }
  }
  std::optional<CheckpointInfo> nearest;
  for (const CheckpointInfo& info : catalog.checkpoints(run)) {  // the last match counts
    if (info.key.kind != CheckpointKind::step || info.key.main_loop != point.main_loop ||
        info.key.iteration != iteration) {
      continue;
    }
    const auto name = parse_step_name(info.key.loop);
    const auto end = name ? ends.find(name->loop) : ends.end();
    if (end != ends.end() && name->step < end->second) nearest = info;
  }
  return nearest;
}

std::string print_point(const ResumePoint& point) {
  if (!point.boundary) {
    return point.main_loop == 0 ? "the beginning"
                                : fmt::format("the end of epoch {}", point.epoch - 1);
  }
  if (point.loop.empty()) return fmt::format("epoch {}", point.epoch);
  return fmt::format("epoch {}, step {} of {}", point.epoch, point.step, point.loop);
}

}  // namespace flor::store
