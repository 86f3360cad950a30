// Recording along the loops of a program: which checkpoints are taken at which of their events, and
// what is noted of iterations.
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

/// Where the program is in its loops, as far as they are recorded. Belongs to the thread of the
/// training, but where it says otherwise.
class LoopRecorder {
 public:
  struct Parts {
    const Flags& flags;
    const std::vector<Frame*>& frames;
    const Registry& registry;
    const std::unique_ptr<Background>& background;  ///< there once the run has begun
    const std::shared_ptr<store::BackgroundPriority>& priority;
    const store::Run& run;
    RunStorage& storage;
    GroupMember& group;
  };
  explicit LoopRecorder(Parts parts);

  /// Before the first loop.
  void set_rule(const Flags& flags) {
    schedule_.set_rule(flags);
    steps_.set_rule(flags);
  }
  Schedule& schedule() { return schedule_; }
  CheckpointTaker& taker() { return taker_; }
  /// Any thread, but for where it says otherwise.
  LongEpochs& news() { return news_; }
  std::int64_t main_loops() const { return main_loops_; }  ///< that began
  std::int64_t epochs() const { return epochs_; }  ///< complete iterations of all main loops

  // Main loops.
  /// Numbers the loop.
  void begin_main(Frame& main);
  /// So many of its iterations are complete in the record of a run that continues, and the loop
  /// begins after them. `stored`: at a boundary that is stored.
  void pass_by(std::int64_t iterations, bool stored);
  /// Its first iteration is to be recorded.
  void open_main(const Frame& main);
  /// `recorded`: the iteration is not complete yet.
  void begin_iteration(bool recorded);
  /// `last`: the process ends after it, so that its boundary is stored.
  void end_iteration(Frame& main, bool last);
  void end_main(Frame& main, LoopEnd how);

  // Nested loops.
  void begin_nested(const Frame& nested);
  /// An iteration is complete; a checkpoint may be due.
  void step(const Frame& nested) {
    if (steps_.is_set()) [[unlikely]]
      take_due_step(nested);
  }
  void end_nested(const Frame& nested, LoopEnd how);

  /// The process ends after a step of this loop, or, for null, somewhere else: takes what the run
  /// can be resumed from there.
  void take_last(const Frame* nested);
  /// A checkpoint that the program asks for.
  void take_saved(const store::CheckpointKey& key, const Registry& objects,
                  const std::vector<Slot>& attached);
  /// Notes decisions and costs so far.
  void put_schedule();
  /// The processor time of the background so far goes to jobs that ended. On the background thread.
  void account();
  /// The program has ended: nothing is hurried any more.
  void stop();

 private:
  bool stores(const Frame& main);
  Schedule::Now now(const Frame& main);
  /// `extra`: one more item, beside the state. False: its epoch is a gap.
  bool take(const store::CheckpointKey& key, const std::vector<Slot>& attached,
            const std::shared_ptr<Batch>& batch, std::optional<store::SnapshotItem> extra = {});
  /// Takes a checkpoint that is stored regardless of the tolerance.
  bool take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached = {},
                   std::optional<store::SnapshotItem> extra = {});
  void take_entry(const Frame& nested) noexcept;
  void take_due_step(const Frame& nested);
  void take_step(const Frame& nested);
  void complete_iteration(Frame& main);
  /// The epoch of a checkpoint that is taken now.
  std::int64_t epoch_of(const store::CheckpointKey& key) const;

  Parts parts_;
  Schedule schedule_;
  CheckpointTaker taker_;
  LongEpochs news_;
  StepRule steps_{[] { return recorder_clock(); }};
  std::int64_t main_loops_ = 0;
  std::int64_t epochs_ = 0;
  std::int64_t taken_boundary_ = -1;  // last one of the current main loop
  bool last_chance_ = false;          // what is taken now
};

}  // namespace flor::detail
