#include "view/live_run.h"

#include "choose/asked.h"
#include "choose/run_spec.h"
#include "lock/signs_of_life.h"
#include "output/values.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

namespace flor::cli {
namespace {

constexpr double kMicrosecond = 1e-6;
/// The mean of so many of the latest epochs predicts the next ones.
constexpr std::size_t kLatest = 5;

constexpr std::string_view kEpochs = "epochs";

bool names_epochs(std::string_view name) {
  if (!name.ends_with(kEpochs)) return false;
  name.remove_suffix(kEpochs.size());
  return name.empty() || std::string_view("_-.").find(name.back()) != name.npos;
}

/// The time at which the present epoch began, as far as the durations of earlier epochs tell.
std::int64_t going_since(const store::Catalog& catalog, const store::Run& run,
                         std::span<const store::Iteration> iterations) {
  std::int64_t first = 0, since = run.start.started_us;
  if (const auto fork = catalog.fork(run.id)) first = fork->epoch;
  for (const store::Resumption& resumption : catalog.resumptions(run.id)) {
    first = resumption.point.epoch;
    since = resumption.resumed_us;
  }
  double seconds = 0;
  for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(first, 0));
       i < iterations.size(); ++i) {
    seconds += iterations[i].seconds;
  }
  return since + static_cast<std::int64_t>(seconds / kMicrosecond);
}

std::optional<store::MetricSummary> metric_of(const store::Catalog& catalog, std::int64_t run,
                                              const std::string& name) {
  for (store::MetricSummary& metric : catalog.metrics(run)) {
    const bool is_number = number(metric.type, metric.last).has_value() && !metric.doubtful;
    if (name.empty() ? is_number : metric.name == name) return std::move(metric);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> planned_epochs(std::span<const store::Argument> arguments,
                                           std::int64_t done) {
  std::vector<const store::Argument*> named;
  for (const store::Argument& argument : arguments) {
    if (argument.type != "int" || !names_epochs(argument.name)) continue;
    if (argument.name == kEpochs) named.clear();
    named.push_back(&argument);
    if (argument.name == kEpochs) break;
  }
  // If there are several, one of them may be `warmup_epochs`.
  if (named.size() != 1) return std::nullopt;
  const auto count = as_number(named.front()->value);
  if (!count || *count < 1 || *count < static_cast<double>(done)) return std::nullopt;
  return static_cast<std::int64_t>(*count);
}

RunPace pace_of(std::span<const store::Iteration> iterations, std::optional<std::int64_t> planned,
                std::int64_t going_since_us, std::int64_t now_us) {
  RunPace pace;
  if (iterations.empty()) return pace;
  double whole = 0, recording = 0;
  for (const store::Iteration& iteration : iterations) {
    whole += iteration.seconds;
    recording += iteration.record_seconds;
  }
  if (whole > recording) pace.overhead = recording / (whole - recording);
  const auto latest = iterations.last(std::min(iterations.size(), kLatest));
  const double one =
      std::accumulate(latest.begin(), latest.end(), 0.0,
                      [](double sum, const auto& iteration) { return sum + iteration.seconds; }) /
      static_cast<double>(latest.size());
  pace.epoch_seconds = one;
  if (!planned) return pace;
  const auto epochs = static_cast<double>(*planned) - static_cast<double>(iterations.size());
  // If the present epoch has taken longer than the mean, it may end at any moment.
  const double gone = std::clamp(static_cast<double>(now_us - going_since_us) * kMicrosecond, 0.0,
                                 epochs > 0 ? one : 0.0);
  pace.left_seconds = std::max(0.0, epochs * one - gone);
  return pace;
}

LiveRun live_run(const store::Store& store, store::Run run, const std::string& metric,
                 std::int64_t now_us) {
  const store::Catalog& catalog = store.catalog();
  LiveRun live;
  for (const store::Run& rank : ranks_with(catalog, run)) {
    const std::int64_t sign = store::last_sign_us(store, rank.key);
    live.sign_us = live.sign_us == 0 ? sign : std::min(live.sign_us, sign);
  }
  const std::vector<store::Iteration> iterations = catalog.iterations(run.id);
  live.planned = planned_epochs(catalog.arguments(run.id), run.epochs);
  live.pace = pace_of(iterations, live.planned, going_since(catalog, run, iterations), now_us);
  live.metric = metric_of(catalog, run.id, metric);
  live.run = std::move(run);
  return live;
}

}  // namespace flor::cli
