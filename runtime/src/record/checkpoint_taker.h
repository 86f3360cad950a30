// Checkpoints from the registered state to the background thread: what the training pays for.
#pragma once

#include "base/background_thread.h"
#include "record/checkpoint_store.h"
#include "schedule/escalation.h"
#include "schedule/schedule.h"
#include "snapshot/overlap.h"
#include "snapshot/snapshot.h"

#include <flor/store/store.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace flor::detail {

/// Takes snapshots and hands them on, and speeds up the writer that is late. Belongs to the thread
/// of the training, but where it says otherwise. Nothing here throws: what cannot be taken is a
/// gap.
class CheckpointTaker {
 public:
  struct Parts {
    const Registry& registry;
    const std::unique_ptr<Background>& background;  ///< there once the run has begun
    const std::shared_ptr<store::BackgroundPriority>& priority;
    const store::Run& run;
    RowWriter& rows;
    CheckpointStore& checkpoints;
    GroupMember& group;
    Ledger& ledger;
    std::function<void(double seconds)> add_flor_time;  ///< of the present iteration
  };
  explicit CheckpointTaker(Parts parts) : parts_(std::move(parts)) {}

  /// `objects`: the registered ones, or those of a saved checkpoint. `extra`: one more item, beside
  /// the state. False: the epoch of the checkpoint is a gap.
  bool take(TakenCheckpoint whose, const Registry& objects, const std::vector<Slot>& attached,
            const std::shared_ptr<Batch>& batch, std::optional<store::SnapshotItem> extra = {});
  /// Only the attached locals of a nested loop that begins. They may have been changed by earlier
  /// iterations, and no boundary can hold them, since there they may be out of scope.
  void take_entry(TakenCheckpoint whose, const std::vector<Slot>& attached) noexcept;

  /// A stretch of the program begins, see Overlap.
  void begin_stretch(std::string_view main_loop, std::string_view nested, Edge edge);
  void fence() noexcept;   ///< any thread
  void settle() noexcept;  ///< any thread

  /// The size of the state; cheap enough to be asked before each iteration that will be stored.
  std::uint64_t state_bytes();
  /// An iteration is going to be stored, or would be if the writer were not late (`waits`).
  void hurry_if_late(bool waits);
  void stop_hurrying() { hurry_.reset(); }
  /// How often the writer was hurried.
  const Escalation& escalation() const { return escalation_; }

  const Unwritten& unwritten() const { return unwritten_; }  ///< any thread
  /// Processor time of all of Flor's background threads so far, in seconds. Any thread.
  double background_cpu() const { return parts_.priority->cpu_seconds() + overlap_.cpu_seconds(); }

 private:
  std::optional<TakenSnapshot> snapshot(const TakenCheckpoint& whose, const Registry& objects,
                                        const std::vector<Slot>& attached,
                                        std::optional<store::SnapshotItem> extra);
  /// A checkpoint is complete; null: it was dropped.
  void hand_on(TakenCheckpoint whose, const std::shared_ptr<Batch>& batch,
               std::shared_ptr<OnItsWay> way, std::optional<TakenSnapshot> taken);
  void prepare_buffers(const TakenSnapshot& taken);
  void set_haste(Haste haste);
  void stop_overlapping(std::string_view why) noexcept;
  void spent(double seconds);

  Parts parts_;
  Unwritten unwritten_;
  Overlap overlap_{[this](const std::string& why) { stop_overlapping(why); }};
  Snapshotter snapshotter_{[this] { return parts_.background->busy(); },
                           [this](const std::function<void()>& wait) {
                             overlap_.fence();  // hands on snapshots that hold memory
                             set_haste(escalation_.waited());
                             const Background::Hurry hurry(*parts_.background);
                             const Awaiting awaiting(parts_.group.awaited());
                             wait();
                           }};
  Escalation escalation_;
  Haste haste_ = Haste::none;
  std::optional<Background::Hurry> hurry_;  // while the writer is late
  std::uint64_t last_bytes_ = 0;            // of the last snapshot
  int prepared_ = 0;                        // snapshots for which buffers were made ready
};

}  // namespace flor::detail
