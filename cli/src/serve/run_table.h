// The listing of runs behind the page: kept in memory, sorted and searched here, so that the page
// only holds the rows that are seen.
#pragma once

#include "choose/listing.h"
#include "output/json.h"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::cli {

/// What the page wants to see of the listing.
struct TableQuestion {
  std::vector<std::string> columns = {};  ///< as `flor list -c` takes them; empty: what is usual
  std::string sort = {};                  ///< a column; empty: newest first
  bool falling = false;
  /// A condition as `flor list --where` takes it, if it has a comparison in it; else words, all of
  /// which must be found in what a run is called by, its state, its arguments or its message.
  std::string search = {};
  std::size_t offset = 0, limit = 100;
};

/// Thread-safe. The store must outlive it.
class RunTable {
 public:
  explicit RunTable(const store::Store& store) : store_(store) {}

  /// {"runs", "found", "offset", "columns": [{"name", "title", "align", "kind"}],
  /// "rows": [{"id", "state", "cells"}]}. Columns that no run has are left out. Throws UsageError
  /// and NotFound for a condition that is wrong.
  Json rows(const TableQuestion& question);
  /// All columns that there are: {"columns": [{"name", "kind"}]}.
  Json columns();
  /// Differs from what it was before when runs were added or have changed, or ended by dying.
  std::string mark();

 private:
  using Clock = std::chrono::steady_clock;

  void refresh();
  void read_all();
  void read_running();
  bool has_died() const;
  std::vector<std::string> usual_columns() const;
  void find_texts();
  const std::vector<std::size_t>& order(const TableQuestion& question);

  const store::Store& store_;
  std::mutex mutex_;
  std::vector<ListedRun> runs_;
  std::vector<std::string> texts_;  // what is searched, by run
  std::vector<std::string> usual_;
  std::set<std::string> text_arguments_;  // that are no numbers in some run
  std::int64_t seen_ = -1;                // of the catalog
  std::int64_t generation_ = 0;           // of runs_
  bool is_whole_ = false;                 // runs_ is what the catalog has
  Clock::time_point next_whole_;

  struct Ordered {
    std::int64_t generation = -1;
    std::string sort, search;
    bool falling = false;
    std::vector<std::size_t> indices = {};
  };
  Ordered ordered_;
};

}  // namespace flor::cli
