// Replaying: turns the events of a program's loops into calls of those who decide which epochs are
// visited (SegmentWalk), which loops are skipped (skip.h), and whether the results equal the
// record.
#pragma once

#include "replay/epoch_path.h"
#include "replay/part_checker.h"
#include "replay/plugin_calls.h"
#include "replay/probes.h"
#include "replay/recorded_run.h"
#include "replay/recorded_state.h"
#include "replay/replay_task.h"
#include "replay/replayed_arguments.h"
#include "replay/segment_walk.h"
#include "session/outputs.h"
#include "session/runtime.h"
#include "verdict/verdict.h"

#include <flor/store/store.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace flor::detail {

/// How long a replay and its parts have taken. Belongs to the session's thread.
class ReplayTimes {
 public:
  double seconds() const { return seconds_since(began_); }
  /// The first main loop begins; further calls change nothing.
  void note_first_loop() {
    if (!startup_) startup_ = seconds();
  }
  /// Until then; 0 if there was none.
  double startup() const { return startup_.value_or(0); }
  void begin_part() { part_began_ = Clock::now(); }
  /// The seconds that the part took; the next one begins.
  double end_part() { return seconds_since(std::exchange(part_began_, Clock::now())); }

 private:
  Clock::time_point began_ = Clock::now(), part_began_ = began_;
  std::optional<double> startup_;
};

/// The session of a replay. Belongs to the session's thread, except `keep`, `tick` and what `post`
/// is given, which run on the background thread and touch the part checker alone.
class Replayer : public Runtime, private WalkHost {
 public:
  explicit Replayer(Flags flags);
  ~Replayer() override;

  Mode mode() const override { return Mode::replay; }
  const store::Run& run() const override { return run_; }
  ProgramFiles& files() override { return *files_; }
  bool catching_up() const override { return walk_ && walk_->catching_up(); }
  /// Whether nothing is left for this process to do; the user has been told.
  bool empty() const { return task_->is_empty(); }

  void arrive(Frame& frame, bool gone) override;
  std::optional<std::string> argument_text(std::string_view name, Fallback fallback) override {
    return arguments_.value(name, fallback);
  }
  void note_argument(const store::Argument&) override {}
  std::string save_checkpoint(std::string_view name, const std::map<std::string, double>& scores,
                              std::vector<Slot> objects) override;
  std::optional<store::FoundCheckpoint> find_checkpoint(bool best) override;
  ExitStatus finish(bool failed, std::string_view message) noexcept override;
  void abandon(std::string_view) noexcept override {}

 protected:
  LoopScope::Start begin_main(Frame& frame, bool random_access) override;
  bool enter_main(Frame& frame) override;
  LoopScope::Move leave_main(Frame& frame) override;
  void end_main(Frame& frame, LoopEnd how) override;
  LoopScope::Start begin_nested(Frame& frame) override;
  std::int64_t leave_nested(Frame& frame) override;
  void end_nested(Frame& frame, LoopEnd how) override;
  void left_nested(Frame& frame, LoopEnd how) override;
  void keep(LogBatch batch) override;
  void tick() override;

 private:
  // The walk's host.
  bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration) override;
  Epochs next_piece(const Position& position) override;
  bool is_answered_from_store(const store::MainLoop& loop, std::int64_t iteration) const override;
  void answer_from_store(Frame& main, std::int64_t iteration) override;

  void open(bool strong);
  SameProgram same_program() const;
  /// Whether the nested loop is skipped; counts it, with its reason.
  bool skips(const Frame& frame, const store::CheckpointKey& key, bool stored);
  void end_iteration(Frame& frame);
  void show_live(ProbeAt at, const Frame* nested);
  void report_work();

  /// Values logged from now on belong to `part`, and are kept if it is this process's.
  void enter_part(std::int64_t part, bool ours);
  void enter_section(bool recorded);
  void complete_section();
  void complete_epoch(std::int64_t epoch);
  /// The part's values have all been logged. `whole`: nothing that belongs to it was skipped.
  void complete(std::int64_t part, bool whole);
  /// Runs this on the background thread, when all that was logged until now has been looked at.
  void post(std::function<void(PartChecker&)> what);
  store::ReplayResult make_result(bool failed, std::string_view message);
  ExitStatus conclude_replay(bool failed, std::string_view message);

  store::Run run_;
  std::optional<store::RunUse> use_;  // before anything is looked up
  ReplayedArguments arguments_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<Probes> probes_;
  PluginCalls plugin_;
  std::unique_ptr<ReplayTask> task_;
  Comparison comparison_;
  // None of the next where there is nothing to do.
  std::optional<ReplayFiles> files_;  // of the program's own
  std::unique_ptr<RecordedState> state_;
  std::unique_ptr<SegmentWalk> walk_;
  std::unique_ptr<PartChecker> parts_;  // on the background thread, read after draining
  std::optional<std::map<std::string, store::SavedCheckpoint>> saves_;  // once they are needed
  std::optional<Background::Hurry> hurry_;

  EpochPath path_;             // of the iteration that is being executed
  bool section_ours_ = false;  // values logged now, outside the loops, are kept
  bool interrupted_told_ = false;
  WorkDone work_;
  std::int64_t visited_ = 0;  // epochs that were asked for
  ReplayTimes times_;
};

}  // namespace flor::detail
