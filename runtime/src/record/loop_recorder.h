// Records the loops of a program: decides which checkpoints are taken when, and notes iterations.
#pragma once

#include "base/background_thread.h"
#include "base/outage.h"
#include "record/checkpoint_taker.h"
#include "record/group_member.h"
#include "record/run_storage.h"
#include "record/training_news.h"
#include "schedule/schedule.h"
#include "schedule/step_rule.h"
#include "session/runtime.h"

#include <flor/store/store.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace flor::detail {

/// Where the program is in its recorded loops. To be used by the training thread, unless noted
/// otherwise.
class LoopRecorder {
 public:
  struct Parts {
    const Flags& flags;
    const std::vector<Frame*>& frames;
    const Registry& registry;
    const std::unique_ptr<Background>& background;  ///< null until the run has begun
    const std::shared_ptr<store::BackgroundPriority>& priority;
    const store::Run& run;
    RunStorage& storage;
    GroupMember& group;
  };
  explicit LoopRecorder(Parts parts);

  /// To be called before the first loop.
  void set_rule(const Flags& flags) {
    schedule_.set_rule(flags);
    steps_.set_rule(flags);
  }
  Schedule& schedule() { return schedule_; }
  CheckpointTaker& taker() { return taker_; }
  /// The training thread reports progress to it; any thread may call `running`.
  LongEpochs& news() { return news_; }
  std::int64_t main_loops() const { return main_loops_; }  ///< how many have begun
  std::int64_t epochs() const { return epochs_; }  ///< complete iterations of all main loops

  // Main loops.
  /// Called when a main loop begins; numbers it.
  void begin_main(Frame& main);
  /// Called in a resumed run: the loop begins after its first `iterations` iterations, which are
  /// complete in the record. `stored`: the boundary there is stored.
  void pass_by(std::int64_t iterations, bool stored);
  /// Called before the first iteration of the main loop that is to be recorded.
  void open_main(const Frame& main);
  /// `recorded`: the iteration is to be recorded, since the record does not have it as complete.
  void begin_iteration(bool recorded);
  /// `last`: the process ends after this iteration, so its boundary is stored.
  void end_iteration(Frame& main, bool last);
  void end_main(Frame& main, LoopEnd how);

  // Nested loops.
  void begin_nested(const Frame& nested);
  /// Called after an iteration of a nested loop; takes a checkpoint if one is due.
  void step(const Frame& nested) {
    if (steps_.is_set()) [[unlikely]]
      take_due_step(nested);
  }
  void end_nested(const Frame& nested, LoopEnd how);

  /// Called when the process ends after a step of `nested`, or elsewhere if it is null. Takes a
  /// checkpoint from which the run can be resumed there.
  void take_last(const Frame* nested);
  /// Takes a checkpoint that the program asked for.
  void take_saved(const store::CheckpointKey& key, const Registry& objects,
                  const std::vector<Slot>& attached);
  /// Records decisions and costs so far.
  void put_schedule();
  /// Assigns the processor time of the background so far to the jobs that have ended. On the
  /// background thread.
  void account();
  /// Called when the program has ended: the writer is not sped up any more.
  void stop();

 private:
  bool stores(const Frame& main);
  Schedule::Now now(const Frame& main);
  /// `extra` is one more item besides the state. Returns false if the epoch becomes a gap.
  bool take(const store::CheckpointKey& key, const std::vector<Slot>& attached,
            const std::shared_ptr<Batch>& batch, std::optional<store::SnapshotItem> extra = {});
  /// Takes a checkpoint that is stored even if recording then costs more than permitted.
  bool take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached = {},
                   std::optional<store::SnapshotItem> extra = {});
  void take_entry(const Frame& nested) noexcept;
  void take_due_step(const Frame& nested);
  void take_step(const Frame& nested);
  void complete_iteration(Frame& main);
  /// The epoch to which a checkpoint that is taken now belongs.
  std::int64_t epoch_of(const store::CheckpointKey& key) const;

  Parts parts_;
  Schedule schedule_;
  CheckpointTaker taker_;
  LongEpochs news_;
  StepRule steps_{[] { return recorder_clock(); }};
  std::int64_t main_loops_ = 0;
  std::int64_t epochs_ = 0;
  std::int64_t taken_boundary_ = -1;  // last boundary taken in the current main loop; -1: none
  bool last_chance_ = false;          // see TakenCheckpoint::last_chance
};

}  // namespace flor::detail
