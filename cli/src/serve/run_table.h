// The listing of runs for the page: kept in memory, sorted and searched here, so that the page only
// holds the visible rows.
#pragma once

#include "choose/listing.h"
#include "output/json.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace flor::cli {

/// The part of the listing that the page asks for.
struct TableQuestion {
  std::vector<std::string> columns = {};  ///< as `flor list -c` takes them; empty: the default ones
  std::string sort = {};                  ///< a column; empty: newest first
  bool falling = false;
  /// A condition as `flor list --where` takes it, if it has a comparison in it; else words, all of
  /// which must occur in the names of a run, its state, its arguments or its message.
  std::string search = {};
  std::size_t offset = 0, limit = 100;
};

/// Thread-safe. The store must outlive it.
class RunTable {
 public:
  /// If there are more than `many` runs, no answer waits until all are read, which takes 10 us
  /// each: the first answers have the newest runs.
  explicit RunTable(const store::Store& store, std::size_t many = 10'000)
      : store_(store), many_(many) {}
  ~RunTable();

  /// {"runs", "found", "offset", "columns": [{"name", "title", "align", "kind"}], "rows": [{"id",
  /// "state", "cells"}]}. Columns that no run has are left out. Throws UsageError and NotFound for
  /// a wrong condition.
  Json rows(const TableQuestion& question);
  /// All existing columns: {"columns": [{"name", "kind"}]}.
  Json columns();
  /// A text that changes when runs were added, have changed, or have died.
  std::string mark();

 private:
  using Clock = std::chrono::steady_clock;

  /// The runs as read at one time.
  struct Contents {
    std::vector<ListedRun> runs;
    std::vector<std::string> texts;  ///< the texts to search, by run
    std::vector<std::string> usual;  ///< columns that are shown by default
    std::set<std::string> text_arguments;  ///< arguments that are texts in some run
    std::int64_t seen = -1;                ///< change mark of the catalog
    bool is_whole = false;                 ///< has all that the catalog had
    Clock::duration took = {};
  };
  static Contents read(const store::Store& store, std::size_t limit, const std::stop_token& stop);

  void refresh();
  bool are_many() const;
  void take(Contents contents);
  void begin_reading_all();
  void read_running();
  bool has_died() const;
  const std::vector<std::size_t>& order(const TableQuestion& question);

  const store::Store& store_;
  std::size_t many_;
  std::mutex mutex_;
  Contents shown_;
  std::int64_t generation_ = 0;  // of shown_
  Clock::time_point next_whole_;
  std::stop_source stop_;
  std::future<Contents> whole_;  // being read beside the answers

  struct Ordered {
    std::int64_t generation = -1;
    std::string sort, search;
    bool falling = false;
    std::vector<std::size_t> indices = {};
  };
  Ordered ordered_;
};

}  // namespace flor::cli
