#include <flor/store/resume_point.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace flor::store {
namespace {

/// Goes on inside the iteration before which the boundary lies, if there is a checkpoint.
void find_step(ResumePoint& point, const std::vector<CheckpointInfo>& checkpoints,
               const std::vector<LoopExecution>& executions) {
  for (const CheckpointInfo& info : checkpoints) {  // the latest counts
    if (info.key.kind != CheckpointKind::step || info.key.main_loop != point.main_loop ||
        info.key.iteration != point.iteration) {
      continue;
    }
    if (const auto name = parse_step_name(info.key.loop)) {
      point.loop = name->loop;
      point.step = name->step;
    }
  }
  if (point.loop.empty()) return;
  for (const LoopExecution& execution : executions) {
    if (execution.main_loop != point.main_loop || execution.iteration != point.iteration) continue;
    if (execution.loop == point.loop) break;
    point.kept.push_back(execution.loop);
  }
}

/// The boundaries of one main loop that are stored.
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

ResumePoint find_resume_point(const Catalog& catalog, std::int64_t run, std::int64_t latest) {
  const std::vector<MainLoop> loops = catalog.main_loops(run);
  const std::vector<CheckpointInfo> checkpoints = catalog.checkpoints(run);
  ResumePoint point;
  const auto boundaries_of = [&](std::size_t i) {
    return i < loops.size() ? boundaries(checkpoints, loops[i].ordinal) : std::set<std::int64_t>();
  };
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const MainLoop& loop = loops[i];
    const std::set<std::int64_t> stored = boundaries_of(i);
    // One that an exception left is over only where the state that followed it is stored.
    const bool over = loop.ended || !boundaries_of(i + 1).empty();
    if (over && stored.contains(loop.iterations)) {
      point.main_loop = loop.ordinal + 1;
      point.epoch = loop.first_epoch + loop.iterations;
      continue;
    }
    // A boundary may be durable before the iteration that it ends is known to be complete.
    const auto after = stored.upper_bound(std::min(loop.iterations, latest));
    if (after == stored.begin()) return point;
    point.main_loop = loop.ordinal;
    point.iteration = *std::prev(after);
    point.epoch = loop.first_epoch + point.iteration;
    point.boundary = true;
    find_step(point, checkpoints, catalog.executions(run));
    return point;
  }
  return point;
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
