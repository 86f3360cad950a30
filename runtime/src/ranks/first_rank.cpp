#include "ranks/first_rank.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace flor::detail {
namespace {

/// Whether the first checkpoint was certainly taken before the second.
bool precedes(const store::CheckpointKey& a, const store::CheckpointKey& b) {
  if (a.main_loop != b.main_loop) return a.main_loop < b.main_loop;
  if (a.iteration != b.iteration) return a.iteration < b.iteration;
  // Within an iteration, only the boundary before it is known to come first.
  return a.kind == store::CheckpointKind::boundary && b.kind != a.kind;
}

}  // namespace

std::span<const store::Digest> FirstRank::chunks_of(const store::CheckpointKey& key) const {
  const auto* stored = stored_.find(key);
  return stored ? std::span(stored->chunks) : std::span<const store::Digest>();
}

bool FirstRank::has_stored(const store::CheckpointKey& key) {
  stored_.follow();
  return stored_.find(key) != nullptr;
}

bool FirstRank::has_passed(const store::CheckpointKey& key) const {
  const auto* last = stored_.last();
  return last && precedes(key, last->key);
}

void FirstRank::await(const store::CheckpointKey& key, const std::function<bool()>& is_urgent) {
  using namespace std::chrono;
  constexpr int kPatience = 3;
  if (in_vain_ >= kPatience) return;
  const auto began = steady_clock::now();
  auto pause = milliseconds(1);
  while (!has_stored(key)) {
    if (!store_.is_being_recorded(run_) || has_passed(key)) {
      // Rank 0 may have stored the checkpoint and ended since the last look.
      if (!has_stored(key)) ++in_vain_;
      return;
    }
    // Rank 0 goes at the pace of this rank: while the training waits here, rank 0 waits for it,
    // too.
    const auto waited = steady_clock::now() - began;
    if (waited >= rank_patience.urgent && is_urgent()) return;
    if (waited >= rank_patience.longest) {
      ++in_vain_;
      return;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(16));
  }
  in_vain_ = 0;
}

}  // namespace flor::detail
