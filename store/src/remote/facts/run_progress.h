// Tells which of two catalogs has the newer state of a run.
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

  /// True if this side was resumed, has more of anything, or has ended, while `other` has not. Both
  /// sides may be further than each other.
  bool is_further_than(const RunProgress& other) const;
  bool was_resumed_after(const RunProgress& other) const;
  std::int64_t epochs() const { return counts_.front(); }
  /// True if this side has replays that the other lacks.
  bool has_other_replays_than(const RunProgress& other) const;
  bool is_ahead_of(const RunProgress& other) const {
    return is_further_than(other) || has_other_replays_than(other);
  }

 private:
  std::vector<std::int64_t> resumptions_;  ///< their times
  /// Counts of rows that only grow between two resumptions; the first one counts epochs.
  std::vector<std::int64_t> counts_;
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> replays_;
};

}  // namespace flor::remote
