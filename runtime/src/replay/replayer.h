// Replaying: passes the events of a program's loops on to the classes that decide which epochs are
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

/// How long a replay and its parts have taken, in seconds. To be used by the session's thread.
class ReplayTimes {
 public:
  double seconds() const { return seconds_since(began_); }
  /// Called when the first main loop begins; later calls change nothing.
  void note_first_loop() {
    if (!startup_) startup_ = seconds();
  }
  /// Seconds until the first main loop began; 0 if there was none.
  double startup() const { return startup_.value_or(0); }
  void begin_part() { part_began_ = Clock::now(); }
  /// Ends a part: returns the seconds that it took, and begins the next.
  double end_part() { return seconds_since(std::exchange(part_began_, Clock::now())); }

 private:
  Clock::time_point began_ = Clock::now(), part_began_ = began_;
  std::optional<double> startup_;
};

/// The session of a replay. To be used by the session's thread, except `keep`, `tick` and the
/// functions passed to `post`: these run on the background thread and use only the part checker.
class Replayer : public Runtime, private WalkHost {
 public:
  explicit Replayer(Flags flags);
  ~Replayer() override;

  Mode mode() const override { return Mode::replay; }
  const store::Run& run() const override { return run_; }
  ProgramFiles& files() override { return *files_; }
  bool catching_up() const override { return walk_ && walk_->catching_up(); }
  /// Whether nothing is left for this process to do, which the user has been told.
  bool empty() const { return task_->is_empty(); }

  void arrive(Frame& frame, bool gone) override;
  std::optional<std::string> argument_text(std::string_view name, Fallback fallback) override {
    return arguments_.value(name, fallback);
  }
  std::optional<store::Value> recorded_pinned(std::string_view name) override;
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
  // Functions of WalkHost.
  bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration) override;
  Epochs next_piece(const Position& position) override;
  bool is_answered_from_store(const store::MainLoop& loop, std::int64_t iteration) const override;
  void answer_from_store(Frame& main, std::int64_t iteration) override;

  void open(bool strong);
  SameProgram same_program() const;
  /// Decides whether the nested loop is skipped, and counts the decision with its reason.
  bool skips(const Frame& frame, const store::CheckpointKey& key, bool stored);
  void end_iteration(Frame& frame);
  void show_live(ProbeAt at, const Frame* nested);
  void report_work();

  /// From here on logged values belong to `part`. They are kept if the part is `ours`, this
  /// process's.
  void enter_part(std::int64_t part, bool ours);
  void enter_section(bool recorded);
  void complete_section();
  void complete_epoch(std::int64_t epoch);
  /// Called when all values of the part have been logged. `whole`: nothing in the part was skipped.
  void complete(std::int64_t part, bool whole);
  /// Runs `what` on the background thread, after everything logged until now has been examined.
  void post(std::function<void(PartChecker&)> what);
  store::ReplayResult make_result(bool failed, std::string_view message);
  ExitStatus conclude_replay(bool failed, std::string_view message);

  store::Run run_;
  std::optional<store::RunUse> use_;  // first, so that it is taken before anything is looked up
  ReplayedArguments arguments_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<Probes> probes_;
  PluginCalls plugin_;
  std::unique_ptr<ReplayTask> task_;
  Comparison comparison_;
  // The next four are null if there is nothing to do.
  std::optional<ReplayFiles> files_;  // files that the program writes
  std::unique_ptr<RecordedState> state_;
  std::unique_ptr<SegmentWalk> walk_;
  std::unique_ptr<PartChecker> parts_;  // used by the background thread; read after draining it
  std::optional<std::map<std::string, store::SavedCheckpoint>> saves_;  // read when first needed
  std::optional<Background::Hurry> hurry_;

  EpochPath path_;             // of the iteration that is being executed
  bool section_ours_ = false;  // values logged outside the loops are kept
  bool in_record_ = true;      // the recorded run came as far as the program has come
  bool interrupted_told_ = false;
  WorkDone work_;
  std::int64_t visited_ = 0;  // number of requested epochs that were visited
  ReplayTimes times_;
};

}  // namespace flor::detail
