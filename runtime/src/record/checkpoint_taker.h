// Takes checkpoints of the registered state, and passes them to the background thread. This is the
// part of a checkpoint that costs the training time.
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

/// Takes snapshots and passes them on, and speeds up the background writer when it is late. To be
/// used by the training thread, unless noted otherwise. Nothing here throws: a snapshot that cannot
/// be taken becomes a gap.
class CheckpointTaker {
 public:
  struct Parts {
    const Registry& registry;
    const std::unique_ptr<Background>& background;  ///< null until the run has begun
    const std::shared_ptr<store::BackgroundPriority>& priority;
    const store::Run& run;
    RowWriter& rows;
    CheckpointStore& checkpoints;
    GroupMember& group;
    Ledger& ledger;
    /// Adds to the time that Flor's own work has taken in the present iteration.
    std::function<void(double seconds)> add_flor_time;
  };
  explicit CheckpointTaker(Parts parts) : parts_(std::move(parts)) {}

  /// `objects` are the registered ones, or those of a saved checkpoint. `extra` is one more item
  /// besides the state. Returns false if the epoch of the checkpoint becomes a gap.
  bool take(TakenCheckpoint whose, const Registry& objects, const std::vector<Slot>& attached,
            const std::shared_ptr<Batch>& batch, std::optional<store::SnapshotItem> extra = {});
  /// Takes the attached locals of a nested loop before it begins. Earlier iterations may have
  /// changed them, and no boundary holds them, since they may be out of scope there.
  void take_entry(TakenCheckpoint whose, const std::vector<Slot>& attached) noexcept;

  /// Tells that a stretch of the program begins, see Overlap.
  void begin_stretch(std::string_view main_loop, std::string_view nested, Edge edge);
  void fence() noexcept;   ///< see Overlap; any thread may call it
  void settle() noexcept;  ///< see Overlap; any thread may call it

  /// The size of the state in bytes. Cheap enough to call before each iteration that will be
  /// stored.
  std::uint64_t state_bytes();
  /// Called before an iteration that will be stored, or that would be if the writer were not late
  /// (`waits`).
  void hurry_if_late(bool waits);
  void stop_hurrying() { hurry_.reset(); }
  /// How the writer was sped up, and how often.
  const Escalation& escalation() const { return escalation_; }

  const Unwritten& unwritten() const { return unwritten_; }  ///< any thread may call it
  /// Processor time of all of Flor's background threads so far, in seconds. Any thread may call it.
  double background_cpu() const { return parts_.priority->cpu_seconds() + overlap_.cpu_seconds(); }

 private:
  std::optional<TakenSnapshot> snapshot(const TakenCheckpoint& whose, const Registry& objects,
                                        const std::vector<Slot>& attached,
                                        std::optional<store::SnapshotItem> extra);
  /// Passes on a complete checkpoint. If `taken` is nothing, the checkpoint was dropped.
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
                             overlap_.fence();  // passes on snapshots, which hold memory
                             set_haste(escalation_.waited());
                             const Background::Hurry hurry(*parts_.background);
                             const Awaiting awaiting(parts_.group.awaited());
                             wait();
                           }};
  Escalation escalation_;
  Haste haste_ = Haste::none;
  std::optional<Background::Hurry> hurry_;  // not null while the writer is late
  std::uint64_t last_bytes_ = 0;            // size of the last snapshot
  int prepared_ = 0;                        // number of snapshots for which buffers were prepared
};

}  // namespace flor::detail
