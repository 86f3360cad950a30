// Lets rank 0 store first the content that all ranks share. The store keeps every content once, but
// two processes that write the same one at the same moment would both store it: so the others look
// a little later.
#pragma once

#include "checkpoint/peer_checkpoints.h"

#include <flor/store/store.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace flor::detail {

/// How long a rank waits for rank 0; `urgent`: where the training waits for the rank. Replaced by
/// tests of whole programs.
struct RankPatience {
  std::chrono::milliseconds longest{10'000}, urgent{1'000};
};
inline RankPatience rank_patience;

/// Belongs to the background thread of a rank other than 0, never to the training.
class FirstRank {
 public:
  /// `run`: the key of rank 0's.
  FirstRank(const store::Store& store, std::string run)
      : store_(store), run_(run), stored_(store, std::move(run)) {}

  /// Returns when rank 0 has stored this checkpoint, or will not: it is gone, or has stored a later
  /// one. Else after ten seconds, or after one if it `is_urgent`. Where rank 0 was waited for in
  /// vain several times, it is not waited for again.
  void await(const store::CheckpointKey& key, const std::function<bool()>& is_urgent);
  /// The chunks of this checkpoint, where rank 0 has stored it.
  std::span<const store::Digest> chunks_of(const store::CheckpointKey& key) const;

 private:
  bool has_stored(const store::CheckpointKey& key);
  bool has_passed(const store::CheckpointKey& key) const;

  const store::Store& store_;
  std::string run_;
  store::PeerCheckpoints stored_;
  int in_vain_ = 0;
};

}  // namespace flor::detail
