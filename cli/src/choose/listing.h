// A listing of runs: what it reads of them, and in which order they come.
#pragma once

#include "choose/run_facts.h"
#include "index/values/overview.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace flor::cli {

struct ListingPlan {
  std::string experiment = {};  ///< empty: of all
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  store::RunDetail detail = store::RunDetail::summary;
  store::RunRanks ranks = store::RunRanks::first;                ///< first: it stands for its group
  bool metrics = false, arguments = false;                       ///< read them, too
  store::MetricDetail metric_detail = store::MetricDetail::all;  ///< what is read of metrics
};

/// Shows `visit` the runs one by one, newest first. It may keep what it gets; what it leaves serves
/// for the next one. It must not list runs itself, and must not wait for others who use the store:
/// the catalog is theirs only when all runs were shown. All that is read is of one moment.
void each_listed(const store::Store& store, const ListingPlan& plan,
                 const std::function<void(ListedRun&)>& visit);

/// The same, all at once.
std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan);

enum class Order : std::uint8_t { rising, falling };
/// The indices of `runs` in the order of a column; runs without it come last either way.
std::vector<std::size_t> listing_order(std::span<const ListedRun> runs, const RunColumn& column,
                                       Order order, std::int64_t now_us);

}  // namespace flor::cli
