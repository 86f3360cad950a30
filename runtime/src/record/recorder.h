// Recording: snapshots on the training thread, everything else in the background.
#pragma once

#include "record/checkpoint_store.h"
#include "record/checkpoint_taker.h"
#include "record/group_member.h"
#include "record/row_writer.h"
#include "record/run_arguments.h"
#include "record/saved_checkpoints.h"
#include "record/source_packing.h"
#include "record/training_news.h"
#include "resume/fork_point.h"
#include "resume/recorded_way.h"
#include "resume/resumption.h"
#include "schedule/schedule.h"
#include "session/outputs.h"
#include "session/runtime.h"

#include <flor/store/store.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace flor::detail {

/// Nothing here throws into the training: failures are reported, the program continues, and data
/// that could not be written is written later or becomes a gap of the run.
class Recorder : public Runtime {
 public:
  /// Commits the sources and enters the run into the catalog, or continues the one that is to be
  /// resumed. Throws where that is not possible.
  explicit Recorder(Flags flags);
  ~Recorder() override;

  Mode mode() const override { return Mode::record; }
  const store::Run& run() const override { return run_; }

  bool catching_up() const override { return rehearsing_ || checking_; }

  void arrive(Frame& frame, bool gone) override;
  std::optional<std::string> argument_text(std::string_view name, Fallback fallback) override;
  void note_argument(const store::Argument& argument) override;
  void fence() noexcept override;
  void settle() noexcept override;
  void keep_checkpoints(const store::CheckpointStrategy& strategy) override;
  std::string save_checkpoint(std::string_view name,
                              const std::map<std::string, double>& scores) override;
  void score_checkpoint(std::string_view name,
                        const std::map<std::string, double>& scores) override;
  std::optional<store::FoundCheckpoint> find_checkpoint(bool best) override;
  ExitStatus finish(bool failed, std::string_view message) noexcept override;
  void failed_after_all(std::string_view why) noexcept override;
  void abandon(std::string_view why) noexcept override;
  void forget_in_child() noexcept override;

 protected:
  LoopScope::Start begin_main(Frame& frame, bool random_access) override;
  bool enter_main(Frame& frame) override;
  LoopScope::Move leave_main(Frame& frame) override;
  void end_main(Frame& frame, LoopEnd how) override;
  LoopScope::Start begin_nested(Frame& frame) override;
  std::int64_t leave_nested(Frame& frame) override;
  void reach(Frame& frame) override;
  void end_nested(Frame& frame, LoopEnd how) override;
  void keep(LogBatch batch) override;
  void tick() override;

 private:
  bool stores(const Frame& main);
  Schedule::Now now(const Frame& main);
  /// `extra`: one more item, beside the state. False: its epoch is a gap.
  bool take_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                       const std::shared_ptr<Batch>& batch,
                       std::optional<store::SnapshotItem> extra = {});
  /// Takes a checkpoint that is stored regardless of the tolerance.
  bool take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached = {},
                   std::optional<store::SnapshotItem> extra = {});
  /// A stretch of the program begins, see Overlap.
  void begin_stretch(std::string_view nested, Edge edge);
  void take_entry(const Frame& nested) noexcept;
  void complete_iteration(Frame& frame);
  void put_main_loop(const Frame& frame, bool ended, bool broke);
  void flush_outputs() noexcept;

  // Writing, on the background thread: recorder_storage.cpp.
  /// Changes the catalog in the background; any thread.
  void update(UpdateOutbox::Update change);
  void flush_progress() noexcept;
  void write_waiting() noexcept;  ///< values, progress and checkpoints
  /// Tries everything once more at the end; what cannot be written then is a gap.
  void write_rest() noexcept;
  void end_run(bool failed, const std::string& message) noexcept;
  void close_store() noexcept;
  /// The epoch of a checkpoint that is taken now.
  std::int64_t epoch_of(const store::CheckpointKey& key) const;

  void put_schedule();
  void announce() const;
  std::string how_to_follow() const;
  std::string overhead_text() const;
  void report(bool failed) const;
  void watch_for_nan(const LogRecord& record, const store::Value& value);
  /// Warns of unused --kwargs: when the first main loop begins, and at the end.
  void warn_of_unused_arguments(std::string_view when) const;
  void tell_of_unregistered() const;

  // Resuming, and being preempted: recorder_resume.cpp.
  /// `point`: that of the group; null: the latest of the run.
  void go_on(store::Run run, const std::string& commit, const store::ResumePoint* point);
  /// Whether the run can be resumed inside an iteration: where the sources name a variable that
  /// would be lost there, it is resumed before that iteration.
  bool may_go_on_inside(std::int64_t run) const;
  /// Begins a run with the state of another one.
  void begin_fork(const ForkPoint& from, const store::NewRun& run,
                  const std::optional<store::RunBuild>& build,
                  const std::vector<ChangedArgument>& changed);
  /// Leads the program to the point, once the record has nothing after it.
  void lead_to(store::ResumePoint point, Rehearsal rehearsal, CheckPlan check, bool exact);
  /// True: the sources are others.
  bool warn_of_changes(const store::Run& run, const std::string& commit) const;
  /// `how`: "resumed" or "forked", for messages.
  void bring_back_carried(const store::Run& run, const store::ResumePoint& point,
                          Rehearsal& rehearsal, std::string_view how) const;
  LoopScope::Start begin_resumed(Frame& frame, const LoopScope::Start& start);
  void enter_resumed(Frame& frame);
  void begin_check();
  std::int64_t leave_checked(Frame& frame);
  void end_way();  ///< at the step to which it leads
  /// Where to continue, if the iteration was only passed through.
  std::optional<LoopScope::Move> leave_resumed(Frame& frame);
  /// An iteration was executed again to compare it with the record: says so, or ends the process.
  void conclude_check();
  void check_values(const LogBatch& batch);  ///< on the background thread
  void end_resumed(const Frame& frame, LoopEnd how);
  void reached();
  /// A checkpoint inside an iteration is due: so much was done since the last one.
  bool is_due() const;
  bool is_forced(const Frame& main);
  void take_step(const Frame& nested);
  [[noreturn]] void preempt(const Frame* nested, const std::string& where);
  [[noreturn]] void end_preempted(const std::string& where) noexcept;
  void heed_signal();  ///< on the background thread

  store::Run run_;
  std::filesystem::path home_;
  std::optional<store::RunLock> lock_;
  std::optional<RecordedOutputs> outputs_;  // background thread; none without git
  std::optional<SourcePacking> packing_;    // of the rank that committed the sources
  GroupMember group_;
  RowWriter rows_{
      store_,
      run_,
      {.flush_journal = [this] { flush_journal(); },
       .write_content =
           [this](const LoggedContent& logged) { return checkpoints_.write_content(logged); }}};
  SavedCheckpoints saved_;
  CheckpointStore checkpoints_{{.store = store_,
                                .run = run_,
                                .priority = priority_,
                                .rows = rows_,
                                .group = group_,
                                .saved = saved_,
                                .flush_progress = [this] { flush_progress(); }}};
  Schedule schedule_;
  CheckpointTaker taker_{{.registry = registry_,
                          .background = background_,
                          .priority = priority_,
                          .run = run_,
                          .rows = rows_,
                          .checkpoints = checkpoints_,
                          .group = group_,
                          .ledger = schedule_.ledger(),
                          .add_flor_time = [this](double seconds) {
                            if (!frames_.empty()) frames_.front()->flor_seconds += seconds;
                          }}};
  RunArguments arguments_;
  Ordinals ordinals_;   // background thread
  NanWatch nan_watch_;  // background thread
  LongEpochs long_epochs_;
  bool says_in_journal_ = false;
  bool index_follows_ = true;  // when the program asked for a checkpoint last
  bool end_is_written_ = false;

  // A run that is continued.
  std::unique_ptr<Resumption> resumption_;  // until its point is reached
  std::optional<store::RunUse> use_;        // likewise
  bool resumed_ = false;
  std::string forked_;  // in words, from where; empty: the process begins no fork
  /// The run has logged nothing outside of loops yet, although it has epochs: a fork.
  bool logs_outside_ = false;
  bool rehearsing_ = false;
  std::atomic<bool> checking_{false};  // logged values are compared, and not kept
  RecordedWay way_;

  // Where the program is.
  Clock::time_point began_ = Clock::now();
  std::atomic<bool> in_loop_{false};  // a main loop is being executed
  std::atomic<std::int64_t> main_loops_ = 0;
  std::int64_t epochs_ = 0;                     // complete iterations of all main loops
  std::int64_t taken_boundary_ = -1;            // last one of the current main loop
  std::int64_t steps_since_ = 0;                // nested iterations since the last boundary or step
  Clock::time_point kept_at_ = Clock::now();    // when that was taken
  bool last_chance_ = false;                    // what is taken now
  bool told_signal_ = false, leaving_ = false;  // background thread
};

}  // namespace flor::detail
