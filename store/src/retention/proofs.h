// Checkpoints that need not exist: a replay has computed them again, bit for bit, so that walking
// from those that stay brings them back.
#pragma once

#include <flor/store/checkpoint.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::store {

class Connection;
class Store;

/// A boundary of a main loop, from which a walk can begin.
struct WalkStart {
  std::int64_t main_loop = 0, iteration = 0;
  auto operator<=>(const WalkStart&) const = default;
};

struct WalkWish {
  double within = 60;         ///< seconds that a walk to any state may take
  std::int64_t portable = 0;  ///< how many epochs stay for machines that compute other bits
};

/// The epochs of a run that may go if a replay computes them again, and the boundaries that stay for
/// that.
struct WalkPlan {
  /// An epoch whose checkpoints may go.
  struct Unit {
    WalkStart after;  ///< the boundary at its end
    std::int64_t epoch = 0;
    std::vector<CheckpointName> checkpoints;
  };
  std::vector<WalkStart> starts;  ///< boundaries that stay, and from which walks begin
  std::vector<Unit> units;        ///< in their order
  std::int64_t stored = 0;        ///< how many epochs are stored now
  double longest = 0;             ///< seconds of the longest walk once all units are gone
};

/// Decides without changing anything. Stay do: the state before each main loop and its last one,
/// saved checkpoints, and epochs that a resume needs, that evaluators await, that are the best by
/// the run's own strategy, or that a fork copied from its parent. Throws UsageError for a rank of a
/// group, Busy while the run is being recorded.
WalkPlan plan_walks(const Store& store, std::int64_t run, const WalkWish& wish);

/// A replay computed these checkpoints again, from `starts` that stay, and compared all of each.
struct Proof {
  std::string replay;  ///< its key
  std::vector<CheckpointName> checkpoints;
  std::map<std::string, std::string> environment;  ///< of the process, for which the proof holds
};

/// Writes the proof down, and then deletes those units of the plan of which proofs of this replay
/// name every checkpoint, in one transaction. What has to stay since the plan was made is not
/// deleted. Returns how many units were deleted.
std::int64_t drop_proven(Store& store, std::int64_t run, const WalkPlan& plan, const Proof& proof);

/// Returns the proofs of a run, oldest first, and in each only the checkpoints that are deleted
/// now; none that has no such checkpoint.
std::vector<Proof> proofs(const Store& store, std::int64_t run);
/// Within a transaction of the caller.
std::vector<Proof> load_proofs(Connection& connection, std::int64_t run);

/// Returns the key of a replay of this store.
std::string key_of_replay(const Store& store, std::int64_t replay);

}  // namespace flor::store
