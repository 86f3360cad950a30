#include "sweep/sweep_runs.h"

#include "choose/asked.h"
#include "output/values.h"
#include "protocol/flags.h"
#include "protocol/sweep_fact.h"

#include <flor/store/secrets.h>

#include <algorithm>
#include <limits>
#include <map>

namespace flor::cli {
namespace {

using Arguments = std::map<std::string, std::string>;

/// The point's arguments as a run's record has them: with secrets masked.
Arguments recorded_arguments(const SweepPoint& point) {
  Arguments arguments;
  for (const auto& [name, value] : point) arguments[name] = store::masked_value(name, value);
  return arguments;
}

bool is_stopped(const store::Run& run) {
  return run.state != store::RunState::finished &&
         std::ranges::find(run.tags, kStoppedTag) != run.tags.end();
}

}  // namespace

std::string PointState::text() const {
  if (!run) return "open";
  return stopped ? "stopped early" : status_text(*run);
}

std::vector<PointState> point_states(const store::Store& store, const SweepPlan& plan) {
  const store::Catalog& catalog = store.catalog();
  catalog.follow();
  std::map<Arguments, std::size_t> points;
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    points.emplace(recorded_arguments(plan.points[i]), i);
  }
  std::vector<PointState> states(plan.points.size());
  // Newest first.
  for (store::Run& run :
       catalog.runs(plan.experiment, SIZE_MAX, store::RunDetail::all, store::RunRanks::first)) {
    const auto fact = run.start.environment.find(detail::kSweepFact);
    if (fact == run.start.environment.end() || fact->second != plan.name ||
        !run.origin.recorded_here()) {
      continue;
    }
    const auto point = points.find(detail::flags_of_command(run.start.command.words()).kwargs);
    if (point == points.end()) continue;
    PointState& state = states[point->second];
    if (state.is_done()) continue;
    run.state = catalog.group_state(run);
    const bool stopped = is_stopped(run);
    if (state.run && !stopped && run.state != store::RunState::finished) continue;
    state = {.run = std::move(run), .stopped = stopped};
  }
  return states;
}

MetricCourse course_of(const store::Store& store, const store::Run& run, std::string_view metric) {
  MetricCourse course(static_cast<std::size_t>(run.epochs),
                      std::numeric_limits<double>::quiet_NaN());
  for (const store::Value& value : store.catalog().values({.run = run.id,
                                   .names = {std::string(metric)},
                                   .first_epoch = 0,
                                   .last_epoch = run.epochs - 1,
                                   .hindsight = false})) {
    const auto epoch = static_cast<std::size_t>(value.place.epoch);
    const auto known = number(value.type, value.value);
    if (value.place.epoch >= 0 && epoch < course.size() && known) course[epoch] = *known;
  }
  return course;
}

}  // namespace flor::cli
