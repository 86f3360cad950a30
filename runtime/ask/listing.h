// Lists runs: reads the facts that a listing needs of them, and orders them.
#pragma once

#include "ask/run_columns.h"
#include "index/values/overview.h"

#include <flor/store/store.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace flor::ask {

struct ListingPlan {
  std::string experiment = {};  ///< empty: all experiments
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  std::vector<std::string> where = {};  ///< conditions that must all be met
  store::RunDetail detail = store::RunDetail::summary;
  store::RunRanks ranks = store::RunRanks::first;                ///< first: of a group of ranks,
                                                                 ///< only rank 0, which represents
                                                                 ///< the group
  bool metrics = false, arguments = false;                       ///< whether to read them, too
  store::MetricDetail metric_detail = store::MetricDetail::all;  ///< how much to read of each
                                                                 ///< metric
  store::RunPresence presence = store::RunPresence::there;
  std::size_t sample = 256;  ///< not 0; so many of the newest runs are read first, to estimate how
                             ///< many match `where`
};

/// Calls `visit` with each run, newest first. `visit` may move from its argument; else its memory
/// is reused for the next run. `visit` must not list runs itself, and must not wait for another
/// process that uses the store, because the catalog is locked for others until all runs were
/// visited. All facts are from one moment; with conditions from two, since the newest runs are read
/// first. Throws NotFound, before the first visit, if a condition names a column that no run has.
void each_listed(const store::Store& store, const ListingPlan& plan, std::int64_t now_us,
                 const std::function<void(ListedRun&)>& visit);

/// Like each_listed, but returns all runs at once.
std::vector<ListedRun> read_listing(const store::Store& store, const ListingPlan& plan,
                                    std::int64_t now_us);

enum class Order : std::uint8_t { rising, falling };
/// The indices of `runs` ordered by a column. Runs that have nothing in it come last in both
/// orders.
std::vector<std::size_t> listing_order(std::span<const ListedRun> runs, const RunColumn& column,
                                       Order order, std::int64_t now_us);

/// Keeps only the runs that meet all conditions. Throws NotFound for a column that no run has.
void keep_runs_where(const store::Catalog& catalog, std::vector<store::Run>& runs,
                     const std::vector<std::string>& where, std::int64_t now_us);

/// Throws NotFound, saying that no run meets the conditions.
[[noreturn]] void none_meets(const std::vector<std::string>& where);

}  // namespace flor::ask
