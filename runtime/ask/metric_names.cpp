#include "ask/metric_names.h"

#include "ask/runs.h"
#include "ask/words.h"
#include "base/text.h"
#include "index/values/machine.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace flor::ask {
namespace {

template <typename Condition>
std::vector<std::string> names_where(const store::Catalog& catalog,
                                     std::span<const store::Run> runs, Condition condition) {
  std::vector<std::string> names;
  std::unordered_set<std::string> met;
  for (const store::Run& run : runs) {
    for (store::MetricSummary& metric : catalog.metrics(run.id)) {
      if (condition(metric) && met.insert(metric.name).second) {
        names.push_back(std::move(metric.name));
      }
    }
  }
  return names;
}

}  // namespace

bool is_doubtful_of(std::string_view name, std::string_view metric) {
  return name.starts_with(metric) && name.substr(metric.size()).starts_with(" (doubtful, replay ");
}

std::vector<std::string> metric_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs) {
  return names_where(catalog, runs, [](const store::MetricSummary&) { return true; });
}

std::vector<std::string> number_names(const store::Catalog& catalog,
                                      std::span<const store::Run> runs) {
  return names_where(catalog, runs, [](const store::MetricSummary& metric) {
    const bool number = metric.type == store::ValueType::real ||
                        metric.type == store::ValueType::integer ||
                        metric.type == store::ValueType::boolean;
    return number && !metric.doubtful;
  });
}

bool has_samples(const store::Catalog& catalog, std::span<const store::Run> runs,
                 const std::string& metric) {
  return store::is_machine_name(metric) && std::ranges::any_of(runs, [&](const store::Run& run) {
           return !catalog.values({.run = run.id, .names = {metric}}).empty();
         });
}

void require_metrics(const store::Catalog& catalog, std::span<const store::Run> runs,
                     std::span<const std::string> metrics, std::string_view how) {
  const bool only_samples =
      !metrics.empty() && std::ranges::all_of(metrics, [&](const std::string& metric) {
        return has_samples(catalog, runs, metric);
      });
  if (only_samples) return;
  const std::vector<std::string> known = metric_names(catalog, runs);
  const std::string whose =
      runs.size() == 1 ? "run " + title(runs.front()) : fmt::format("these {} runs", runs.size());
  const char* have = runs.size() == 1 ? "has" : "have";
  if (known.empty()) {
    throw NotFound(fmt::format("{} {} no metric: nothing was logged", whose, have));
  }
  const std::string all = store::printable(fmt::format("{}", fmt::join(known, ", ")));
  if (metrics.empty()) {
    throw UsageError(fmt::format("a metric is missing: give '{}' with one of the metrics of {}: {}",
                                 how, whose, all));
  }
  for (const std::string& metric : metrics) {
    if (std::ranges::any_of(known,
                            [&](const std::string& name) {
                              return name == metric || is_doubtful_of(name, metric);
                            }) ||
        has_samples(catalog, runs, metric)) {
      continue;
    }
    if (store::is_machine_name(metric)) {
      throw NotFound(
          fmt::format("{} {} no samples of '{}': flor show {} --machine shows which "
                      "there are",
                      whose, have, store::printable(metric), short_key(runs.front())));
    }
    std::string hint = did_you_mean(metric, known);
    if (hint.empty()) hint = fmt::format(": {} {}", runs.size() == 1 ? "it has" : "they have", all);
    throw NotFound(
        fmt::format("{} {} no metric '{}'{}", whose, have, store::printable(metric), hint));
  }
}

}  // namespace flor::ask
