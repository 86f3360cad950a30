#include "listing.h"

#include "run_spec.h"

#include <flor/store/overview.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace flor::cli {

std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan) {
  const store::Catalog& catalog = store.catalog();
  std::vector<ListedRun> runs;
  // Moving thousands of runs to a larger place would take as long as reading them.
  runs.reserve(std::min(plan.limit, catalog.count_runs()));
  catalog.each_run([&](store::Run&& run) { runs.push_back({std::move(run), {}, {}}); },
                   plan.experiment, plan.limit, plan.detail, plan.ranks);
  constexpr std::size_t kMany = 100;  // from here on one query for all is faster
  const bool many = runs.size() >= kMany;
  std::unordered_map<std::int64_t, std::vector<store::MetricSummary>> metrics;
  std::unordered_map<std::int64_t, std::vector<store::Argument>> arguments;
  if (plan.metrics && many) metrics = catalog.metrics();
  if (plan.arguments && many) arguments = store::all_arguments(store);
  for (ListedRun& facts : runs) {
    const std::int64_t id = facts.run.id;
    if (plan.ranks == store::RunRanks::first) stand_for_group(catalog, facts.run);
    if (many) {
      facts.metrics = std::move(metrics[id]);
      facts.arguments = std::move(arguments[id]);
    } else {
      if (plan.metrics) facts.metrics = catalog.metrics(id);
      if (plan.arguments) facts.arguments = catalog.arguments(id);
    }
  }
  return runs;
}

std::vector<std::size_t> listing_order(std::span<const ListedRun> runs, const RunColumn& column,
                                       Order order, std::int64_t now_us) {
  std::vector<Field> fields;
  fields.reserve(runs.size());
  for (const ListedRun& facts : runs) fields.push_back(column.field(facts, now_us));
  std::vector<std::size_t> indices(runs.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  std::ranges::stable_sort(indices, [&](std::size_t a, std::size_t b) {
    return sorts_before(fields[a], fields[b], order == Order::falling);
  });
  return indices;
}

}  // namespace flor::cli
