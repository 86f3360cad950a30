// Lets rank 0 be the first to store content that all ranks have. The store keeps equal content
// once, but two processes that write it at the same moment would both store it. So the other ranks
// wait for rank 0 before they look.
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

/// How long a rank waits for rank 0. `urgent` applies while the training waits for the rank itself.
/// Tests that run whole programs replace it.
struct RankPatience {
  std::chrono::milliseconds longest{10'000}, urgent{1'000};
};
inline RankPatience rank_patience;

/// Follows what rank 0 has stored. To be used by the background thread of a rank other than 0,
/// never by the training thread.
class FirstRank {
 public:
  /// `run` is the key of rank 0's run.
  FirstRank(const store::Store& store, std::string run)
      : store_(store), run_(run), stored_(store, std::move(run)) {}

  /// Returns when rank 0 has stored this checkpoint, or will not store it any more since it has
  /// ended or has stored a later one. Gives up after ten seconds, or after one second if
  /// `is_urgent()`. After several such failures it does not wait at all.
  void await(const store::CheckpointKey& key, const std::function<bool()>& is_urgent);
  /// The chunks of this checkpoint, if rank 0 has stored it.
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
