#include "replay/chosen_steps.h"

#include <algorithm>

namespace flor::detail {
namespace {

const store::LoopExecution* execution_in(const Record& record, std::int64_t main_loop,
                                         std::int64_t iteration, const std::string& loop) {
  return record.execution({.kind = store::CheckpointKind::loop_end,
                           .main_loop = main_loop,
                           .iteration = iteration,
                           .loop = loop});
}

std::string name_of(const std::string& component) {
  return component.substr(0, component.find('~'));
}

}  // namespace

bool ChosenSteps::asks(const store::Place& place) const {
  if (!any()) return true;
  const std::size_t slash = place.path.find('/');
  if (place.step < 0 || slash == place.path.npos) return false;
  std::int64_t iterations = -1;
  if (const store::MainLoop* main = facts_.record.main_loop(place.path.substr(0, slash))) {
    const std::size_t end = std::min(place.path.find('/', slash + 1), place.path.size());
    const auto* execution =
        execution_in(facts_.record, main->ordinal, place.epoch - main->first_epoch,
                     place.path.substr(slash + 1, end - slash - 1));
    if (execution) iterations = execution->iterations;
  }
  return facts_.choice.has(place.step, iterations);
}

/// The recorded nested loops of an iteration that have chosen steps, each with the number of
/// iterations up to the last of them.
std::map<std::string, std::int64_t> ChosenSteps::ends_in(std::int64_t main_loop,
                                                         std::int64_t iteration) const {
  std::map<std::string, std::int64_t> ends;
  for (const std::string& loop : facts_.record.executed_in(main_loop, iteration)) {
    const auto* execution = execution_in(facts_.record, main_loop, iteration, loop);
    const std::int64_t end = execution ? facts_.choice.end_in(execution->iterations) : 0;
    if (end > 0) ends[loop] = end;
  }
  return ends;
}

bool ChosenSteps::asks_nothing(std::int64_t main_loop, std::int64_t iteration) const {
  return any() && !facts_.in_full && !facts_.open && ends_in(main_loop, iteration).empty();
}

void ChosenSteps::begin_epoch(const Frame& main, bool ours) {
  answered_ = shortened_ = false;
  chooses_ = any() && ours && !facts_.in_full;
  to_come_.clear();
  if (!chooses_) return;
  end_is_stored_ = facts_.record
                       .checkpoint({.kind = store::CheckpointKind::boundary,
                                    .main_loop = main.ordinal,
                                    .iteration = main.index + 1,
                                    .loop = {}})
                       .has_value();
  to_come_ = ends_in(main.ordinal, main.index);
  std::set<std::string> recorded;
  for (const std::string& loop : facts_.record.executed_in(main.ordinal, main.index)) {
    recorded.insert(name_of(loop));
  }
  may_have_failed_ = !std::ranges::all_of(
      facts_.probes.loops(), [&](const std::string& loop) { return recorded.contains(loop); });
}

std::optional<std::int64_t> ChosenSteps::begin_loop(const Frame& main, const Frame& nested) {
  end_ = cut_ = -1;
  if (!chooses_) return std::nullopt;
  if (answered_) return end_is_stored_ ? std::optional<std::int64_t>(0) : std::nullopt;
  to_come_.erase(nested.component);
  const auto* execution = execution_in(facts_.record, main.ordinal, main.index, nested.component);
  if (!execution) return std::nullopt;
  const std::int64_t end = facts_.choice.end_in(execution->iterations);
  // A loop that ends with its last chosen step is left as it was recorded, and its end compared.
  if (end > 0 && end == execution->iterations) return std::nullopt;
  end_ = end;
  if (!end_is_stored_) return std::nullopt;
  const auto& asked = facts_.probes.loops();
  const bool more_is_asked = std::ranges::any_of(to_come_, [&](const auto& loop) {
    return std::ranges::find(asked, name_of(loop.first)) != asked.end();
  });
  return more_is_asked ? std::nullopt : std::optional(end);
}

void ChosenSteps::leave_after(Frame& nested, std::int64_t iterations) {
  cut_ = iterations;
  shortened_ = true;
  nested.limit = iterations;
  nested.limit_broke = true;
}

bool ChosenSteps::ends_with(const Frame& nested) {
  if (!chooses_ || answered_ || nested.index != end_) return false;
  if (facts_.open || may_have_failed_) return false;
  answered_ = std::ranges::all_of(
      to_come_, [this](const auto& loop) { return unasked_.contains(name_of(loop.first)); });
  return answered_;
}

}  // namespace flor::detail
