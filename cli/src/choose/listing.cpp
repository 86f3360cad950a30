#include "choose/listing.h"

#include "choose/run_spec.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace flor::cli {
namespace {

using Arguments = std::unordered_map<std::int64_t, std::vector<store::Argument>>;

/// What is read beside the runs: of all of them at once, or of each when it comes. The first run is
/// what it is read with: while the runs are being read, all comes from the same state of the
/// catalog.
class Facts {
 public:
  Facts(const store::Store& store, const ListingPlan& plan, std::size_t runs)
      : store_(store), plan_(plan), many_(runs >= kMany) {}

  void complete(ListedRun& facts) {
    const store::Catalog& catalog = store_.catalog();
    const std::int64_t id = facts.run.id;
    if (plan_.metrics && many_) {
      if (!metrics_) metrics_.emplace(store_, plan_.metric_detail);
      metrics_->read(id, facts.metrics);
    } else if (plan_.metrics) {
      facts.metrics = catalog.metrics(id);
    }
    if (plan_.arguments && many_) {
      if (!arguments_) arguments_ = store::all_arguments(store_);
      facts.arguments = std::move((*arguments_)[id]);
    } else if (plan_.arguments) {
      facts.arguments = catalog.arguments(id);
    }
  }

 private:
  static constexpr std::size_t kMany = 100;  // from here on one query for all is faster

  const store::Store& store_;
  const ListingPlan& plan_;
  bool many_;
  std::optional<store::AllMetrics> metrics_;
  std::optional<Arguments> arguments_;
};

std::size_t most_runs(const store::Store& store, const ListingPlan& plan) {
  return std::min(plan.limit, store.catalog().count_runs(plan.experiment));
}

}  // namespace

void each_listed(const store::Store& store, const ListingPlan& plan,
                 const std::function<void(ListedRun&)>& visit) {
  Facts all(store, plan, most_runs(store, plan));
  ListedRun facts;
  const auto show = [&] {
    if (plan.ranks == store::RunRanks::first) stand_for_group(store.catalog(), facts.run);
    all.complete(facts);
    visit(facts);
  };
  store.catalog().each_run(facts.run, show, plan.experiment, plan.limit, plan.detail, plan.ranks);
}

std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan) {
  std::vector<ListedRun> runs;
  // Moving thousands of runs to a larger place would take as long as reading them.
  runs.reserve(most_runs(store, plan));
  each_listed(store, plan, [&](ListedRun& facts) { runs.push_back(std::move(facts)); });
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
