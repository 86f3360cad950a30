// Checkpoints from the snapshot to the packs, on the background thread: each with all that was
// logged before it; where the store fails, the latest boundary waits and the others are gaps.
#pragma once

#include "record/group_member.h"
#include "record/row_writer.h"
#include "record/saved_checkpoints.h"
#include "snapshot/snapshot.h"

#include <flor/store/store.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::detail {

/// A checkpoint on its way to the packs.
struct TakenCheckpoint {
  store::CheckpointKey key;
  std::int64_t epoch = 0;    ///< that is not whole without it
  bool last_chance = false;  ///< it is tried although the store did not work a moment ago
  TakenSnapshot snapshot = {};
};

/// Checkpoints that were taken and are not written yet. Any thread.
struct Unwritten {
  std::atomic<int> all{0};  ///< but for those of attached locals
  std::atomic<int> steps{0};
};

/// Marks that a snapshot is between the training and its pack. Wherever it is lost, its epoch is a
/// gap. Any thread.
class OnItsWay {
 public:
  OnItsWay(Unwritten& unwritten, RowWriter& rows, const TakenCheckpoint& taken);
  ~OnItsWay();
  OnItsWay(const OnItsWay&) = delete;
  OnItsWay& operator=(const OnItsWay&) = delete;
  void arrived() { arrived_ = true; }

 private:
  Unwritten& unwritten_;
  RowWriter& rows_;
  std::int64_t epoch_;
  bool is_entry_, is_step_;
  bool arrived_ = false;
};

/// Belongs to the background thread, but where it says otherwise. Nothing but `open` and
/// `write_content` throws.
class CheckpointStore {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;  ///< becomes null when the run has ended
    const store::Run& run;
    std::shared_ptr<store::BackgroundPriority> priority;
    RowWriter& rows;
    GroupMember& group;
    SavedCheckpoints& saved;
    std::function<void()> flush_progress;  ///< with all that belongs to a boundary
  };
  explicit CheckpointStore(Parts parts) : parts_(std::move(parts)) {}

  /// The checkpoints inside iterations that a resumed run has. Before there is a background thread.
  void know_steps(std::vector<store::CheckpointKey> steps) { steps_ = std::move(steps); }
  /// The run has begun. Before there is a background thread; throws what the store throws.
  void open();
  void write(TakenCheckpoint taken) noexcept;
  /// A checkpoint of the locals attached to a nested loop, before it begins.
  void write_entry(TakenCheckpoint entry) noexcept;
  /// Stores what waits, if that is worthwhile now.
  void retry() noexcept;
  /// Drops the checkpoints inside iterations, but for the last ones.
  void drop_steps(std::size_t kept = 2) noexcept;
  const std::vector<store::CheckpointKey>& steps() const { return steps_; }
  /// Stores the content of a logged value; returns its reference. Throws what the store throws.
  std::string write_content(const LoggedContent& logged);
  /// Deletes the checkpoints that the program's strategy does not keep.
  void delete_others(bool at_end = false);
  /// Counts checkpoints that still wait as gaps.
  void give_up() noexcept;
  void close() noexcept;

  /// Any thread.
  void set_effort(store::Effort effort) { writer_->set_effort(effort); }

 private:
  void store_checkpoint(TakenCheckpoint& taken);
  void store_entry(TakenCheckpoint& entry);
  void store_held();
  void pass_over(TakenCheckpoint taken) noexcept;
  void hold_entry(TakenCheckpoint entry) noexcept;
  void drop_held_boundary() noexcept;
  bool is_after_held(const store::CheckpointKey& entry) const;
  void add_step(const store::CheckpointKey& written) noexcept;
  bool arrives(TakenCheckpoint& taken) noexcept;
  store::CheckpointWriter& writer_of(const store::CheckpointKey& key);

  Parts parts_;
  std::unique_ptr<store::CheckpointWriter> writer_;
  /// For entries, so that the checkpoints remain differences to each other.
  std::unique_ptr<store::CheckpointWriter> entry_writer_;
  /// For checkpoints inside iterations, which do not last, so that nothing is a difference to them.
  std::unique_ptr<store::CheckpointWriter> step_writer_;
  std::vector<store::CheckpointKey> steps_;    // stored ones, the last one last
  std::optional<TakenCheckpoint> held_;        // a boundary that could not be stored yet
  std::vector<TakenCheckpoint> held_entries_;  // of that boundary or of one that is stored
};

}  // namespace flor::detail
