// The progress of a run in two catalogs: which of them is the newer one.
#pragma once

#include "database/sqlite.h"

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace flor::remote {

class RunProgress {
 public:
  RunProgress(store::Connection& connection, std::int64_t run);

  /// Whether it was resumed, or has more of anything, or has ended, while the other did not. Each
  /// of two may be further in something.
  bool is_further_than(const RunProgress& other) const;
  bool was_resumed_after(const RunProgress& other) const;
  std::int64_t epochs() const { return counts_.front(); }
  /// Whether it was replayed where the other was not.
  bool has_other_replays_than(const RunProgress& other) const;
  bool is_ahead_of(const RunProgress& other) const {
    return is_further_than(other) || has_other_replays_than(other);
  }

 private:
  std::vector<std::int64_t> resumptions_;  ///< when
  /// Counts of rows that only grow between two resumptions, epochs first.
  std::vector<std::int64_t> counts_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> replays_;
};

}  // namespace flor::remote
