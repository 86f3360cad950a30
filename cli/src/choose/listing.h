// A listing of runs: the facts it reads of them, and their order.
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
  std::vector<std::string> where = {};  ///< conditions that all must hold
  store::RunDetail detail = store::RunDetail::summary;
  store::RunRanks ranks = store::RunRanks::first;                ///< first: it represents its group
  bool metrics = false, arguments = false;                       ///< read them, too
  store::MetricDetail metric_detail = store::MetricDetail::all;  ///< detail read of metrics
  store::RunPresence presence = store::RunPresence::there;
  std::size_t sample = 256;  ///< newest runs that show how common matches of `where` are; not 0
};

/// Shows `visit` the runs one by one, newest first. It may keep what it gets; the rest is reused
/// for the next one. It must not list runs itself, and must not wait for other users of the store:
/// the catalog is free for them only when all runs were shown. All facts are of one moment; with
/// conditions, of two: the newest runs are looked at first. Throws NotFound, before any is shown,
/// if a condition names a column that none of the runs has.
void each_listed(const store::Store& store, const ListingPlan& plan, std::int64_t now_us,
                 const std::function<void(ListedRun&)>& visit);

/// The same, all at once.
std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan,
                                    std::int64_t now_us);

enum class Order : std::uint8_t { rising, falling };
/// The indices of `runs` in the order of a column; runs without it come last either way.
std::vector<std::size_t> listing_order(std::span<const ListedRun> runs, const RunColumn& column,
                                       Order order, std::int64_t now_us);

}  // namespace flor::cli
