// Recording as one of several ranks: what they decide together, and what the first one stores for
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

/// Marks that the training waits for the background thread, while it lives.
class Awaiting {
 public:
  explicit Awaiting(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Awaiting() { --count_; }
  Awaiting(const Awaiting&) = delete;
  Awaiting& operator=(const Awaiting&) = delete;

 private:
  std::atomic<int>& count_;
};

/// This process among those that run the program together; one that is alone decides for itself.
/// Belongs to the training thread, but where it says otherwise.
class GroupMember {
 public:
  /// `ranks`: none where the process is alone.
  explicit GroupMember(std::optional<Ranks> ranks) : ranks_(std::move(ranks)) {}

  const std::optional<Ranks>& ranks() const { return ranks_; }
  bool is_first() const { return !ranks_ || ranks_->is_first(); }

  /// Called when the run is in the catalog and locked. Rank 0 lets the others begin by it; they
  /// have been let. `launch`: without `group` and time. From then on `schedule` stores what all
  /// ranks agree to store.
  void begin(store::Store& store, const store::Run& run, store::RankLaunch launch,
             Schedule& schedule);

  /// It is time to end, because of a signal to this process or to another rank. Asked once a step
  /// and once an epoch, which all ranks count alike.
  bool is_called_away();
  /// Whether the checkpoint after this iteration is forced, in all ranks or in none. `own`: in
  /// this.
  bool forces(std::int64_t main_loop, std::int64_t iteration, bool own);
  /// Tells the others whether the budget of this rank is spent.
  void set_spent(bool spent);
  /// Tells the others that this rank has ended. Any thread.
  void close();

  // On the background thread.
  /// Waits until rank 0 has stored this checkpoint, and lets the writer use its chunks.
  void let_first_rank_store(const store::CheckpointKey& key, store::CheckpointWriter& writer);
  void forget_first_rank() { first_rank_.reset(); }

  /// Counts while the training waits for the background thread.
  std::atomic<int>& awaited() { return awaited_; }

 private:
  std::optional<Ranks> ranks_;
  std::unique_ptr<RankBoard> board_;       // where all ranks run on this machine
  std::unique_ptr<FirstRank> first_rank_;  // of other ranks; background thread
  std::uint64_t position_ = 0;             // steps and epochs, counted as RankBoard::stops wants it
  std::atomic<int> awaited_{0};
};

}  // namespace flor::detail
