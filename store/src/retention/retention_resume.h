// Determines the epochs whose checkpoints the runs of a group need to be resumed. The runtime's
// `plan_resume` looks for the same checkpoints when it resumes.
#pragma once

#include "database/sqlite.h"

#include <flor/store/checkpoint.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace flor::store {

/// A main loop, and an iteration in it.
using LoopPlace = std::pair<std::int64_t, std::int64_t>;

/// The stored checkpoints of a run, as far as resuming it needs them.
class StoredRun {
 public:
  StoredRun(Connection& connection, std::int64_t run);
  void add(const CheckpointKey& key);

  std::int64_t id() const { return run_; }
  /// Returns the boundaries after complete iterations, at which the run can be resumed.
  const std::set<std::int64_t>& boundaries(std::int64_t main_loop) const;
  /// Returns, for each nested loop, the iteration in which it ran last before a boundary.
  std::map<std::string, std::int64_t> last_executions(Connection& connection,
                                                      const LoopPlace& boundary) const;
  /// True if the checkpoint at the end of this loop is missing. A loop without attached locals
  /// needs none.
  bool lacks_end(const std::string& loop, const LoopPlace& place) const;

 private:
  std::int64_t run_;
  std::map<std::int64_t, std::int64_t> complete_;  ///< number of complete iterations, by main loop
  std::map<std::int64_t, std::set<std::int64_t>> boundaries_;
  std::set<std::pair<std::int64_t, std::string>> attached_;  ///< main loop and nested loop
  std::set<std::tuple<std::int64_t, std::int64_t, std::string>> ends_;
};

/// Returns the iterations whose checkpoints must stay, so that the runs (one, or all ranks of a
/// group) can resume at the same place as with all their checkpoints.
std::set<LoopPlace> needed_to_resume(Connection& connection, std::span<const StoredRun> runs);

}  // namespace flor::store
