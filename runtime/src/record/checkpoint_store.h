// Writes checkpoints from snapshots to packs, on the background thread. All values logged before a
// checkpoint are written before it. If the store fails, the latest boundary waits, and others
// become gaps.
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

/// A checkpoint that was taken, but is not written to a pack yet.
struct TakenCheckpoint {
  store::CheckpointKey key;
  std::int64_t epoch = 0;    ///< epoch that is incomplete without this checkpoint
  /// To be tried even if the store failed a moment ago.
  bool last_chance = false;
  TakenSnapshot snapshot = {};
};

/// How many checkpoints were taken and are not written yet. Any thread may read it.
struct Unwritten {
  std::atomic<int> all{0};  ///< except those of attached locals
  std::atomic<int> steps{0};
};

/// Counts a snapshot as unwritten until it is in a pack. If the snapshot is lost on the way, its
/// epoch becomes a gap. May be used in any thread.
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

/// Writes the checkpoints of one run. To be used by the background thread, unless noted otherwise.
/// Only `open` and `write_content` throw.
class CheckpointStore {
 public:
  struct Parts {
    const std::shared_ptr<store::Store>& store;  ///< becomes null when the run has ended
    const store::Run& run;
    std::shared_ptr<store::BackgroundPriority> priority;
    RowWriter& rows;
    GroupMember& group;
    SavedCheckpoints& saved;
    std::function<void()> flush_progress;  ///< writes all progress that belongs to a boundary
  };
  explicit CheckpointStore(Parts parts) : parts_(std::move(parts)) {}

  /// Tells which checkpoints inside iterations a resumed run has. To be called before the
  /// background thread exists.
  void know_steps(std::vector<store::CheckpointKey> steps) { steps_ = std::move(steps); }
  /// Called when the run has begun, before the background thread exists. Throws what the store
  /// throws.
  void open();
  void write(TakenCheckpoint taken) noexcept;
  /// Writes a checkpoint of the locals attached to a nested loop, as they are before the loop
  /// begins.
  void write_entry(TakenCheckpoint entry) noexcept;
  /// Stores waiting checkpoints, if an attempt is worthwhile.
  void retry() noexcept;
  /// Deletes the checkpoints inside iterations, except the last `kept` ones.
  void drop_steps(std::size_t kept = 2) noexcept;
  const std::vector<store::CheckpointKey>& steps() const { return steps_; }
  /// Stores the content of a logged value, and returns its reference. Throws what the store throws.
  std::string write_content(const LoggedContent& logged);
  /// Deletes the checkpoints that the program's strategy does not keep.
  void delete_others(bool at_end = false);
  /// Makes the checkpoints that still wait gaps.
  void give_up() noexcept;
  void close() noexcept;

  /// May be called from any thread.
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
  /// For entries (locals before a nested loop), so that `writer_` encodes checkpoints as
  /// differences to each other and not to entries.
  std::unique_ptr<store::CheckpointWriter> entry_writer_;
  /// For checkpoints inside iterations. They are deleted soon, so no other checkpoint may be stored
  /// as a difference to one.
  std::unique_ptr<store::CheckpointWriter> step_writer_;
  std::vector<store::CheckpointKey> steps_;    // stored ones, in order
  std::optional<TakenCheckpoint> held_;        // a boundary that could not be stored yet
  std::vector<TakenCheckpoint> held_entries_;  // of `held_`, or of a boundary that is stored
};

}  // namespace flor::detail
