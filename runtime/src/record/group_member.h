// Recording as one of several ranks: what the ranks decide together, and what rank 0 stores for
// all.
#pragma once

#include "ranks/first_rank.h"
#include "ranks/rank_board.h"
#include "protocol/ranks.h"
#include "schedule/schedule.h"

#include <flor/store/store.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace flor::detail {

/// While it exists, the training waits for the background thread.
class Awaiting {
 public:
  explicit Awaiting(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Awaiting() { --count_; }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  std::atomic<int>& count_;
};

/// This process as one of the ranks that run the program together; a process that is alone decides
/// for itself. To be used by the training thread, unless noted otherwise.
class GroupMember {
 public:
  /// `ranks` is empty if the process is alone.
  explicit GroupMember(std::optional<Ranks> ranks) : ranks_(std::move(ranks)) {}

  const std::optional<Ranks>& ranks() const { return ranks_; }
  bool is_first() const { return !ranks_ || ranks_->is_first(); }

  /// Called when the run is in the catalog and locked. With it, rank 0 lets the other ranks begin.
  /// `launch` lacks `group` and the time. From then on `schedule` stores what all ranks agree to
  /// store.
  void begin(store::Store& store, const store::Run& run, store::RankLaunch launch,
             Schedule& schedule);

  /// Whether it is time to end, because of a signal to this or another rank. To be asked once in
  /// each step and epoch, which all ranks count alike.
  bool is_called_away();
  /// Whether a checkpoint after this iteration is forced, which is the same in all ranks. `own`:
  /// this rank wants it.
  bool forces(std::int64_t main_loop, std::int64_t iteration, bool own);
  /// Tells the other ranks whether this rank's budget for recording is spent.
  void set_spent(bool spent);
  /// Tells the other ranks that this rank has ended. May be called from any thread.
  void close();

  // For the background thread.
  /// Waits until rank 0 has stored this checkpoint, and lets the writer refer to its chunks.
  void let_first_rank_store(const store::CheckpointKey& key, store::CheckpointWriter& writer);
  void forget_first_rank() { first_rank_.reset(); }

  /// Above 0 while the training waits for the background thread.
  std::atomic<int>& awaited() { return awaited_; }

 private:
  std::optional<Ranks> ranks_;
  std::unique_ptr<RankBoard> board_;       // null unless all ranks run on this machine
  std::unique_ptr<FirstRank> first_rank_;  // null in rank 0; for the background thread
  std::uint64_t position_ = 0;             // steps and epochs so far, see RankBoard::stops
  std::atomic<int> awaited_{0};
};

}  // namespace flor::detail
