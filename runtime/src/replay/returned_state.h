// Checkpoints that were deleted, and that a replay stores again when its program has computed them.
#pragma once

#include "snapshot/snapshot.h"
#include "state/registry.h"
#include "verdict/verdict.h"

#include <flor/state.h>
#include <flor/store/store.h>

#include <cstdint>
#include <string>
#include <vector>

namespace flor::detail {

/// Stores the wanted checkpoints of one run. To be used by the session's thread. The arguments must
/// outlive this object. Throws what storing throws.
class ReturnedState {
 public:
  ReturnedState(store::Store& store, std::int64_t run, const Registry& registry,
                Comparison& comparison, std::vector<store::CheckpointName> wanted);

  /// Called where the recording may have taken a checkpoint. If it is wanted, stores the state under
  /// its old name. If the state is another one, notes a difference, and stores nothing more.
  void reach(std::int64_t part, const store::CheckpointKey& key, const std::string& where,
             const std::vector<Slot>& attached);

 private:
  store::CheckpointWriter writer_;
  const Registry& registry_;
  Comparison& comparison_;
  Snapshotter snapshotter_;
  std::vector<store::CheckpointName> wanted_;
};

}  // namespace flor::detail
