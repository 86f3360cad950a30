#include "ask/listing.h"

#include "ask/condition.h"
#include "ask/runs.h"
#include "base/text.h"

#include <flor/store/error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

namespace flor::ask {
namespace {

using Arguments = std::unordered_map<std::int64_t, std::vector<store::Argument>>;

/// The metrics and arguments of runs, read for all runs at once or for each run separately. The
/// first read happens during the first `visit`, so that everything comes from the same state of the
/// catalog as the runs.
class Facts {
 public:
  Facts(const store::Store& store, const ListingPlan& plan, bool all)
      : store_(store),
        metrics_wanted_(plan.metrics || !plan.where.empty()),
        arguments_wanted_(plan.arguments || !plan.where.empty()),
        detail_(plan.where.empty() ? plan.metric_detail : store::MetricDetail::all),
        all_(all) {}

  void complete(ListedRun& facts) {
    const store::Catalog& catalog = store_.catalog();
    const std::int64_t id = facts.run.id;
    if (metrics_wanted_ && all_) {
      if (!metrics_) metrics_.emplace(store_, detail_);
      metrics_->read(id, facts.metrics);
    } else if (metrics_wanted_) {
      facts.metrics = catalog.metrics(id);
    }
    if (arguments_wanted_ && all_) {
      if (!arguments_) arguments_ = store::all_arguments(store_);
      facts.arguments = std::move((*arguments_)[id]);
    } else if (arguments_wanted_) {
      facts.arguments = catalog.arguments(id);
    }
  }

 private:
  const store::Store& store_;
  bool metrics_wanted_, arguments_wanted_;
  store::MetricDetail detail_;
  bool all_;
  std::optional<store::AllMetrics> metrics_;
  std::optional<Arguments> arguments_;
};

/// Whether so many runs meet the conditions that testing them one by one, newest first, finds
/// `wanted` of them sooner than asking the index for all candidates. `met` of `looked_at` runs did.
bool is_common(std::size_t met, std::size_t looked_at, std::size_t wanted) {
  constexpr double kLookedAtMost = 5'000;
  return static_cast<double>(wanted) * static_cast<double>(looked_at) <=
         kLookedAtMost * static_cast<double>(met);
}

/// With at least kMany runs, if they are at least a kMost-th of all, one query for all is faster.
constexpr std::size_t kMany = 100, kMost = 10;

bool are_many(const store::Catalog& catalog, std::size_t runs) {
  return runs >= kMany && catalog.count_runs({}, kMost * runs) < kMost * runs;
}

/// An estimate of the number of runs that will be read.
std::size_t expected_runs(const store::Catalog& catalog, const ListingPlan& plan,
                          const std::optional<std::vector<std::int64_t>>& among) {
  if (among) return std::min(among->size(), plan.limit);
  return catalog.count_runs(plan.experiment, plan.where.empty() ? plan.limit : SIZE_MAX);
}

/// The conditions of a plan.
class Filter {
 public:
  Filter(const store::Store& store, const ListingPlan& plan, std::int64_t now_us)
      : now_us_(now_us) {
    for (const std::string& text : plan.where) {
      conditions_.emplace_back(text);
      for (const std::string& name : conditions_.back().columns()) {
        columns_.try_emplace(name, column_named(name));
        const auto names = names_of(name);
        is_known_ = is_known_ && (!names || has_any_named(store, plan.experiment, *names));
      }
    }
  }

  /// Whether the index has every column; otherwise only an evaluation may have added it.
  bool is_known() const { return is_known_; }
  std::vector<store::NumberTest> necessary() const {
    std::vector<store::NumberTest> tests;
    for (const Condition& condition : conditions_) {
      std::ranges::move(condition.necessary(), std::back_inserter(tests));
    }
    return tests;
  }
  bool holds(const ListedRun& facts) const {
    return std::ranges::all_of(conditions_, [&](const Condition& condition) {
      return condition.holds(
          [&](const std::string& name) { return columns_.at(name).field(facts, now_us_); });
    });
  }

 private:
  std::int64_t now_us_;
  std::vector<Condition> conditions_;
  std::map<std::string, RunColumn> columns_;
  bool is_known_ = true;
};

}  // namespace

namespace {

/// Reads all runs before the first `visit`. Needed if a condition names a column that the index
/// does not have: only the runs themselves can tell whether it exists.
void each_of_all(const store::Store& store, ListingPlan plan, std::int64_t now_us,
                 const std::function<void(ListedRun&)>& visit) {
  const std::vector<std::string> where = std::exchange(plan.where, {});
  const std::size_t limit = std::exchange(plan.limit, SIZE_MAX);
  plan.metrics = plan.arguments = true;
  plan.metric_detail = store::MetricDetail::all;
  std::vector<ListedRun> runs = read_listing(store, plan, now_us);
  keep_where(runs, where, now_us);
  for (std::size_t i = 0; i < std::min(limit, runs.size()); ++i) visit(runs[i]);
}

}  // namespace

void each_listed(const store::Store& store, const ListingPlan& plan, std::int64_t now_us,
                 const std::function<void(ListedRun&)>& visit) {
  const Filter filter(store, plan, now_us);
  if (!filter.is_known()) return each_of_all(store, plan, now_us, visit);
  const store::Catalog& catalog = store.catalog();
  std::size_t left = plan.limit, looked_at = 0, met = 0;
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  store::RunListing listing{plan.experiment, plan.limit, plan.detail,
                            plan.ranks,      {},         plan.presence};
  if (!plan.where.empty()) listing.limit = SIZE_MAX;
  bool is_sample = false, is_over = true;
  const auto show = [&](bool many) {
    Facts all(store, plan, many);
    ListedRun facts;
    const auto each = [&] {
      ++looked_at;
      oldest = facts.run.id;
      if (plan.ranks == store::RunRanks::first) stand_for_group(catalog, facts.run);
      all.complete(facts);
      if (filter.holds(facts)) {
        visit(facts);
        ++met;
        --left;
      }
      is_over = !is_sample || looked_at % plan.sample != 0 || is_common(met, looked_at, left);
      return left > 0 && is_over;
    };
    if (left > 0) catalog.each_run(facts.run, each, listing);
  };
  const std::vector<store::NumberTest> tests = filter.necessary();
  std::optional<std::vector<std::int64_t>> among;
  if (!tests.empty()) {
    is_sample = true;
    show(false);
    if (is_over) return;
    is_sample = false;
    among = store::runs_that_may_meet(store, tests);
    std::erase_if(*among, [&](std::int64_t run) { return run >= oldest; });
    listing.among = among;
  }
  show(are_many(catalog, expected_runs(catalog, plan, among)));
}

std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan,
                                    std::int64_t now_us) {
  std::vector<ListedRun> runs;
  // Reserves memory: moving thousands of runs would take as long as reading them.
  if (plan.where.empty()) runs.reserve(expected_runs(store.catalog(), plan, std::nullopt));
  each_listed(store, plan, now_us, [&](ListedRun& facts) { runs.push_back(std::move(facts)); });
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

void keep_runs_where(const store::Catalog& catalog, std::vector<store::Run>& runs,
                     const std::vector<std::string>& where, std::int64_t now_us) {
  if (where.empty()) return;
  std::vector<ListedRun> facts;
  for (store::Run& run : runs) {
    const std::int64_t id = run.id;
    facts.push_back({std::move(run), catalog.metrics(id), catalog.arguments(id)});
  }
  keep_where(facts, where, now_us);
  runs.clear();
  for (ListedRun& fact : facts) runs.push_back(std::move(fact.run));
}

void none_meets(const std::vector<std::string>& where) {
  throw NotFound(fmt::format("no run meets '{}': 'flor list --columns A,B' shows what runs have",
                             store::printable(fmt::format("{}", fmt::join(where, "' and '")))));
}

}  // namespace flor::ask
