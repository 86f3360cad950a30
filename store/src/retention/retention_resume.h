// Determines the epochs that the runs of a group need to be resumed: the counterpart of the
// runtime's `plan_resume`, which looks for them.
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

/// A main loop and an iteration of it.
using LoopPlace = std::pair<std::int64_t, std::int64_t>;

/// The stored checkpoints of a run, as far as its resumption is concerned.
class StoredRun {
 public:
  StoredRun(Connection& connection, std::int64_t run);
  void add(const CheckpointKey& key);

  std::int64_t id() const { return run_; }
  /// Boundaries after complete iterations, at which the run can be resumed.
  const std::set<std::int64_t>& boundaries(std::int64_t main_loop) const;
  /// Nested loops by the iteration in which they ran last before a boundary.
  std::map<std::string, std::int64_t> last_executions(Connection& connection,
                                                      const LoopPlace& boundary) const;
  /// Whether the end of the loop is missing; a loop without attached locals needs none.
  bool lacks_end(const std::string& loop, const LoopPlace& place) const;

 private:
  std::int64_t run_;
  std::map<std::int64_t, std::int64_t> complete_;  ///< iterations by main loop
  std::map<std::int64_t, std::set<std::int64_t>> boundaries_;
  std::set<std::pair<std::int64_t, std::string>> attached_;  ///< main loop, nested loop
  std::set<std::tuple<std::int64_t, std::int64_t, std::string>> ends_;
};

/// The iterations whose checkpoints have to stay, so that the runs, one alone or all ranks of a
/// group, resume at the same place as with all of their checkpoints.
std::set<LoopPlace> needed_to_resume(Connection& connection, std::span<const StoredRun> runs);

}  // namespace flor::store
