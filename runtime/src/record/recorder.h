// Recording: snapshots on the training thread, everything else in the background.
#pragma once

#include "base/outage.h"
#include "ranks/first_rank.h"
#include "ranks/rank_board.h"
#include "ranks/ranks.h"
#include "record/outbox.h"
#include "record/source_packing.h"
#include "record/training_news.h"
#include "resume/changes.h"
#include "resume/fork_point.h"
#include "resume/resumption.h"
#include "schedule/escalation.h"
#include "schedule/schedule.h"
#include "session/outputs.h"
#include "session/runtime.h"
#include "session/secret_arguments.h"
#include "snapshot/overlap.h"
#include "snapshot/snapshot.h"

#include <flor/store/store.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

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
  /// Processor time of all of Flor's background threads so far, in seconds.
  double background_cpu() const { return priority_->cpu_seconds() + overlap_.cpu_seconds(); }
  bool stores(const Frame& main);
  Schedule::Now now(const Frame& main);
  /// `extra`: one more item, beside the state. False: its epoch is a gap.
  bool take_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                       const std::shared_ptr<Batch>& batch,
                       std::optional<store::SnapshotItem> extra = {});
  /// Takes a checkpoint that is stored regardless of the tolerance.
  bool take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached = {},
                   std::optional<store::SnapshotItem> extra = {});
  /// A checkpoint on its way to the writer.
  struct Taken {
    store::CheckpointKey key;
    std::int64_t epoch = 0;    ///< that is not whole without it
    bool last_chance = false;  ///< it is tried although the store did not work a moment ago
    TakenSnapshot snapshot = {};
  };
  /// A snapshot between the training and the writer. Wherever it is lost, its epoch is a gap.
  class OnItsWay {
   public:
    OnItsWay(Recorder& recorder, const Taken& taken);
    ~OnItsWay();
    OnItsWay(const OnItsWay&) = delete;
    OnItsWay& operator=(const OnItsWay&) = delete;
    void arrived() { arrived_ = true; }

   private:
    Recorder& recorder_;
    std::int64_t epoch_;
    bool is_entry_, is_step_;
    bool arrived_ = false;
  };

  // Writing checkpoints, on the background thread. The first four throw what the store throws.
  void write_before(const store::CheckpointKey& key);
  void store_checkpoint(Taken& taken);
  void store_entry(Taken& entry);
  void store_held();
  void write_checkpoint(Taken taken) noexcept;
  void write_entry(Taken entry) noexcept;
  void count_stored(const store::CheckpointKey& key, const store::CheckpointInfo& info) noexcept;
  /// True when all that was logged before the checkpoint is durable.
  bool may_store(bool last_chance) noexcept;
  std::uint64_t state_bytes();
  void set_haste(Haste haste);
  /// A checkpoint is complete; null: it was dropped.
  void hand_to_writer(Taken whose, const std::shared_ptr<Batch>& batch,
                      std::shared_ptr<OnItsWay> way, std::optional<TakenSnapshot> taken);
  /// A stretch of the program begins, see Overlap.
  void begin_stretch(std::string_view nested, Edge edge);
  void stop_overlapping(std::string_view why) noexcept;
  void add_flor_time(Clock::time_point began);
  /// The attached locals of a nested loop that begins. They may have been changed by earlier
  /// iterations, and no boundary can hold them, since there they may be out of scope.
  void take_entry(const Frame& nested) noexcept;
  void complete_iteration(Frame& frame);
  void put_main_loop(const Frame& frame, bool ended, bool broke);
  void flush_outputs() noexcept;

  // Writes that fail, and when they are tried again: recorder_storage.cpp. On the background
  // thread, apart from `trouble` and `update`.
  void trouble(StorageHealth::Part part, std::string_view why) noexcept;
  void works(StorageHealth::Part part) noexcept;
  /// Changes the catalog in the background.
  void update(UpdateOutbox::Update change);
  /// `write` says whether it wrote anything.
  void write_rows(const std::function<bool(store::Catalog&)>& write) noexcept;
  void flush_values() noexcept;
  /// Writes the progress of the run, and before it which files were written.
  bool write_progress(store::Catalog& catalog);
  void flush_progress() noexcept;
  /// All that was logged is durable.
  bool values_are_written() const { return values_.empty() && updates_.empty(); }
  /// Keeps the latest boundary for a better time; any other one is a gap.
  void pass_over(Taken taken) noexcept;
  /// Keeps the locals attached to a nested loop until they are stored, before the boundary if that
  /// waits.
  void hold_entry(Taken entry) noexcept;
  void drop_held_boundary() noexcept;
  bool is_after_held(const store::CheckpointKey& entry) const;
  void miss(std::int64_t epoch, bool values = false) noexcept;
  void retry_held() noexcept;
  void write_logged() noexcept;
  void write_waiting() noexcept;  ///< values, progress and held checkpoints
  /// Tries everything once more at the end; what cannot be written then is a gap.
  void write_rest() noexcept;
  /// Writes the end of the run, in one transaction with the rest that `write_rest` could not write:
  /// without that a run never counts as finished. Values are given up, with a message, if they
  /// alone prevent that. Throws what the catalog throws.
  void write_end(
      const std::function<void(store::Catalog&, const store::UnwrittenRest&)>& end);
  void end_run(bool failed, const std::string& message) noexcept;
  void close_store() noexcept;
  /// The epoch of a checkpoint that is taken now.
  std::int64_t epoch_of(const store::CheckpointKey& key) const;

  void prepare_buffers(const TakenSnapshot& taken);
  void put_schedule();
  void announce() const;
  std::string how_to_follow() const;
  std::string overhead_text() const;
  void report(bool failed) const;
  void watch_for_nan(const LogRecord& record, const store::Value& value);
  /// Warns of unused --kwargs: when the first main loop begins, and at the end.
  void warn_of_unused_arguments(std::string_view when) const;
  void tell_of_unregistered() const;

  // Retention: recorder_saved.cpp.
  /// On the background thread.
  void enter_saved(const store::SavedCheckpoint& saved, store::Catalog& catalog);
  void delete_others(bool at_end = false);         ///< on the background thread, or when it is done
  std::string name_of_saved(std::string_view name, const VisitedPlaces::Visit& place,
                            std::int64_t& number);

  // A program that runs as several processes.
  bool is_first() const { return !ranks_ || ranks_->is_first(); }
  void begin_in_group(const std::string& launch, const std::string& commit,
                      const std::optional<store::ResumePoint>& point);
  /// Lets rank 0 store the state that all ranks share; background thread.
  void let_first_rank_store(const store::CheckpointKey& key, store::CheckpointWriter& writer);
  /// It is time to end, because of a signal to this process or to another rank.
  bool is_called_away();

  // Resuming, and being preempted: recorder_resume.cpp.
  /// `point`: that of the group; null: the latest of the run.
  void go_on(store::Run run, const std::string& commit, const store::ResumePoint* point);
  /// Whether the run can be resumed inside an iteration: where the sources name a variable that
  /// would be lost there, it is resumed before that iteration.
  bool may_go_on_inside(std::int64_t run) const;
  /// Takes the arguments of an earlier run, but for those that --kwargs gives otherwise now: these
  /// are returned.
  std::vector<ChangedArgument> take_arguments(const store::Run& run);
  /// Begins a run with the state of another one.
  void begin_fork(const ForkPoint& from, const store::NewRun& run,
                  const std::optional<store::RunBuild>& build,
                  const std::vector<ChangedArgument>& changed);
  /// Leads the program to the point, once the record has nothing after it.
  void lead_to(store::ResumePoint point, Rehearsal rehearsal, CheckPlan check, bool exact);
  void know_saves();
  /// True: the sources are others.
  bool warn_of_changes(const store::Run& run, const std::string& commit) const;
  /// `how`: "resumed" or "forked", for messages.
  void bring_back_carried(const store::Run& run, const store::ResumePoint& point,
                          Rehearsal& rehearsal, std::string_view how) const;
  LoopScope::Start begin_resumed(Frame& frame, const LoopScope::Start& start);
  void enter_resumed(Frame& frame);
  void begin_check();
  std::int64_t leave_checked(Frame& frame);
  /// Values on the way to the point are logged again: they have to be the same, and the recorded
  /// ones stay.
  void know_way(const store::ResumePoint& point);
  bool compare_on_way(store::Value& value, const LoggedContent* content);
  void end_way();
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
  // On the background thread.
  void add_step(const store::CheckpointKey& written) noexcept;
  void drop_steps(std::size_t kept = 2) noexcept;  ///< all but the last ones
  [[noreturn]] void preempt(const Frame* nested, const std::string& where);
  [[noreturn]] void end_preempted(const std::string& where) noexcept;
  void heed_signal();  ///< on the background thread

  store::Run run_;
  std::filesystem::path home_;
  std::optional<store::RunLock> lock_;
  std::optional<RecordedOutputs> outputs_;  // background thread; none without git
  std::optional<SourcePacking> packing_;    // of the rank that committed the sources
  std::optional<Ranks> ranks_;             // none: the process is alone
  std::unique_ptr<RankBoard> board_;       // where all ranks run on this machine
  std::unique_ptr<FirstRank> first_rank_;  // of other ranks; background thread
  std::uint64_t position_ = 0;             // steps and epochs, counted as RankBoard::stops wants it
  std::atomic<int> awaited_{0};            // the training waits for the background thread
  std::unique_ptr<store::CheckpointWriter> writer_;  // used by the background thread
  /// For entries, so that the checkpoints remain differences to each other; background thread, too.
  std::unique_ptr<store::CheckpointWriter> entry_writer_;
  /// For checkpoints inside iterations, which do not last, so that nothing is a difference to them.
  std::unique_ptr<store::CheckpointWriter> step_writer_;
  std::vector<store::CheckpointKey> steps_;  // stored ones, the last one last; background thread
  StorageHealth health_{[] { return recorder_clock(); }};
  std::atomic<int> unwritten_{0};  // checkpoints that were taken and are not written yet
  std::atomic<int> steps_unwritten_{0};
  Snapshotter snapshotter_{[this] { return background_->busy(); },
                           [this](const std::function<void()>& wait) {
                             overlap_.fence();  // hands on snapshots that hold memory
                             set_haste(escalation_.waited());
                             const Background::Hurry hurry(*background_);
                             const Awaiting awaiting(awaited_);
                             wait();
                           }};
  Overlap overlap_{[this](const std::string& why) { stop_overlapping(why); }};
  store::CheckpointStrategy strategy_;  // background thread
  bool told_retention_ = false;         // background thread
  /// Saved checkpoints of a resumed run: code that is executed again takes its checkpoints again.
  std::map<std::string, store::SavedCheckpoint> recorded_saves_;
  bool says_in_journal_ = false;
  bool index_follows_ = true;  // when the program asked for a checkpoint last
  std::int64_t saves_ = 0;  // the highest number of a saved checkpoint
  // Used by the background thread: names that are stored and not entered yet; all numbers by name.
  std::set<std::string> stored_saves_;
  std::map<std::string, std::int64_t> numbers_of_saves_;
  Schedule schedule_;
  Escalation escalation_;
  Haste haste_ = Haste::none;
  std::optional<Background::Hurry> hurry_;  // while the writer is late
  std::uint64_t last_bytes_ = 0;            // of the last snapshot
  Ordinals ordinals_;                       // used by the background thread
  ProgressOutbox progress_;
  ValueOutbox values_;          // background thread
  UpdateOutbox updates_;        // background thread
  std::optional<Taken> held_;   // background thread; a boundary that could not be stored yet
  std::vector<Taken> held_entries_;  // background thread; of that boundary or of one that is stored
  bool ending_ = false;         // background thread: nothing is tried later
  bool end_is_written_ = false;
  bool last_chance_ = false;    // what is taken now
  std::map<std::string, bool> arguments_used_;
  std::map<std::string, store::Argument> recorded_arguments_;  // of a run that is resumed
  SecretArguments secrets_;                                    // of such a run
  std::unique_ptr<Resumption> resumption_;                     // until its point is reached
  std::optional<store::RunUse> use_;                           // likewise
  bool resumed_ = false;
  std::string forked_;  ///< in words, from where; empty: the process begins no fork
  /// The run has logged nothing outside of loops yet, although it has epochs: a fork.
  bool logs_outside_ = false;
  bool rehearsing_ = false;
  std::atomic<bool> checking_{false};           // logged values are compared, and not kept
  std::atomic<bool> on_the_way_{false};         // in the iteration of the point, and before it
  std::map<std::string, store::Value> logged_before_;  // there, by identity; background thread
  std::string otherwise_;  // the first of them that is logged differently now; background thread
  std::atomic<bool> in_loop_{false};            // a main loop is being executed
  bool told_signal_ = false, leaving_ = false;  // background thread
  std::int64_t steps_since_ = 0;                // nested iterations since the last boundary or step
  Clock::time_point kept_at_ = Clock::now();    // when that was taken
  std::atomic<std::int64_t> main_loops_ = 0;
  std::int64_t epochs_ = 0;            // complete iterations of all main loops
  std::int64_t taken_boundary_ = -1;   // last one of the current main loop
  std::atomic<std::int64_t> checkpoints_{0};
  std::atomic<std::uint64_t> raw_bytes_{0}, stored_bytes_{0};
  Clock::time_point began_ = Clock::now();
  int prepared_ = 0;
  LongEpochs long_epochs_;
  NanWatch nan_watch_;  // background thread
};

}  // namespace flor::detail
