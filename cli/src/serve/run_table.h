// The listing of runs for the page. It is kept in memory, sorted and searched by the server, so
// that the page holds only the visible rows.
#pragma once

#include "choose/asked.h"
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
  std::string sort = {};                  ///< name of a column; empty: newest first
  bool falling = false;
  /// A condition as `flor list --where` takes it, if it contains a comparison. Otherwise words that
  /// must all occur in the names, the state, the arguments or the message of a run.
  std::string search = {};
  std::size_t offset = 0, limit = 100;
};

/// The store must outlive this object. Thread-safe.
class RunTable {
 public:
  /// With more than `many` runs, which take 10 us each to read, no answer waits until all are read:
  /// the first answers have only the newest runs.
  explicit RunTable(const store::Store& store, std::size_t many = 10'000)
      : store_(store), many_(many) {}
  ~RunTable();

  /// Returns {"runs", "found", "offset", "columns": [{"name", "title", "align", "kind"}], "rows":
  /// [{"id", "state", "cells"}]}. Columns that no run has are left out. Throws UsageError or
  /// NotFound for a wrong condition.
  Json rows(const TableQuestion& question);
  /// Returns all existing columns: {"columns": [{"name", "kind"}]}.
  Json columns();
  /// A text that differs after runs were added, have changed, or have died.
  std::string mark();

 private:
  using Clock = std::chrono::steady_clock;

  /// The runs as they were read at one time.
  struct Contents {
    std::vector<ListedRun> runs;
    std::vector<std::string> texts;        ///< the texts that a search looks in, by run
    std::vector<std::string> usual;        ///< columns that are shown by default
    std::set<std::string> text_arguments;  ///< arguments that are texts in some run
    std::int64_t seen = -1;                ///< change mark of the catalog when they were read
    bool is_whole = false;                 ///< whether it has all runs that the catalog had, not
                                           ///< only the newest
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
  std::int64_t generation_ = 0;  // increased with each change of shown_
  Clock::time_point next_whole_;
  std::stop_source stop_;
  std::future<Contents> whole_;  // all runs, being read in the background

  struct Ordered {
    std::int64_t generation = -1;
    std::string sort, search;
    bool falling = false;
    std::vector<std::size_t> indices = {};
  };
  Ordered ordered_;
};

}  // namespace flor::cli
