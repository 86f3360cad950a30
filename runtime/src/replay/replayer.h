// Replaying: which iterations are visited, which state is loaded instead of computed, and whether
// the results of executing again equal the record.
#pragma once

#include "plugin/plugin.h"
#include "protocol/plan.h"
#include "protocol/verdict_text.h"
#include "replay/part_keeper.h"
#include "replay/probes.h"
#include "replay/recorded_run.h"
#include "replay/recorded_state.h"
#include "session/outputs.h"
#include "session/runtime.h"
#include "session/secret_arguments.h"
#include "verdict/value_check.h"
#include "verdict/verdict.h"
#include "verdict/verifier_process.h"
#include "worker/assignment.h"
#include "worker/replay_findings.h"

#include <flor/store/store.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

class Replayer : public Runtime {
 public:
  explicit Replayer(Flags flags);
  ~Replayer() override;

  Mode mode() const override { return Mode::replay; }
  const store::Run& run() const override { return run_; }
  std::filesystem::path output_directory() override { return files_->directory(); }
  bool catching_up() const override { return catching_up_; }
  /// Whether nothing is left for this process to do; the user has been told.
  bool empty() const { return empty_; }

  void arrive(Frame& frame, bool gone) override;
  std::optional<std::string> argument_text(std::string_view name, Fallback fallback) override;
  void note_argument(const store::Argument& argument) override;
  std::string save_checkpoint(std::string_view name,
                              const std::map<std::string, double>& scores) override;
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
  void check_kwargs() const;
  void take_arguments();
  void take_assignment();
  std::unique_ptr<Findings> make_findings();
  std::string asking_digest() const;
  WorkerOrder question() const;
  std::vector<std::string> recorded_arguments() const;
  void set_threads() const;
  void announce() const;
  void announce_way(const Frame& frame) const;
  void check_probes() const;
  /// Whether the nested loop is skipped; counts it, with its reason.
  bool decide_on(const Frame& frame, const store::CheckpointKey& key, bool stored);
  LoopScope::Start begin_unknown(Frame& frame);
  LoopScope::Start pass_by(Frame& frame, const store::MainLoop& loop);
  LoopScope::Start visit(Frame& frame, const store::MainLoop& loop, bool random_access);
  std::optional<std::int64_t> restore_start(const store::MainLoop& loop);
  bool restore_boundary(const store::MainLoop& loop, std::int64_t iteration);
  void aim_at(Frame& frame, Epochs target);
  void end_iteration(Frame& frame);
  LoopScope::Move go_on(Frame& frame);
  Epochs next_target(const Frame& frame) const;

  // The plug-in, in replayer_plugin.cpp.
  void load_plugin();
  void check_places() const;
  /// Nothing where there is none, it is not called there, or the epoch is only on the way.
  void show_live(ProbeAt at, const Frame* nested, std::int64_t epoch);
  void call_plugin(const ProbePlace& place, ProbedState& state);
  void show_stored(Frame& frame);
  void show_stored_epoch(Frame& frame, std::int64_t iteration);
  void show_checkpoint(const store::CheckpointKey& key, std::int64_t epoch);
  bool is_stored(std::int64_t iteration) const;
  std::vector<store::CheckpointKey> loop_ends(std::int64_t iteration) const;
  LoopScope::Move jump(Frame& frame);
  bool goes_back() const;
  bool builds_on(std::int64_t section) const;
  bool restore_ahead(const store::MainLoop& loop, std::int64_t ahead, std::int64_t here);
  void report_work();
  void next_piece(const Position& position);
  void note_unvisited(const Frame& frame);
  void leave_loop_early(const store::MainLoop& loop, std::int64_t reached);
  void compare_path(std::int64_t part, const Frame& main);

  /// Values logged from now on belong to `part`, and are kept if it is this process's.
  void enter_part(std::int64_t part, bool ours);
  /// The part's values have all been logged.
  /// `whole`: nothing that belongs to it was skipped.
  void complete(std::int64_t part, bool whole);
  void complete_epoch(std::int64_t epoch);
  void check(std::function<void()> what);
  SameProgram same_program() const;
  bool ends_the_record(std::int64_t section) const;
  store::ValueVerdict verdict_of_new(const store::ReplayResult& part, bool whole) const;
  FoundValues found_values() const;
  /// Determines the verdict of the new values, and enters it; changes `result` where they differ.
  void verify(store::ReplayResult& result, FoundValues& found);
  void execute(const VerifyPlan& plan, store::ReplayResult& result, FoundValues& found);
  void keep_complete(bool now);            ///< on the background thread
  void fail(const std::exception& error);  ///< on the background thread
  void enter_section(std::int64_t section, bool recorded);
  void complete_section();
  std::int64_t part_of(const Frame& main) const;

  store::Run run_;
  std::optional<store::RunUse> use_;  // before anything is looked up
  std::unique_ptr<Record> record_;
  std::unique_ptr<Probes> probes_;  // none where there is nothing to do
  std::string own_digest_;          // of the program, without the plug-in
  std::unique_ptr<Plugin> plugin_;
  ProbedRun probed_run_;
  std::int64_t shown_checkpoints_ = 0;  // to the plug-in
  std::uint64_t shown_bytes_ = 0;
  bool empty_ = false;
  std::vector<Epochs> epochs_;  // asked for; empty in a worker, which does not know
  std::unique_ptr<Assignment> assignment_;
  bool strong_ = false;  // from the start: the user asked for it, or the question or the state
                         // needs it
  std::map<std::string, store::Argument> arguments_;
  SecretArguments secrets_;
  Comparison comparison_;
  std::unique_ptr<RecordedState> state_;
  std::optional<std::map<std::string, store::SavedCheckpoint>> saves_;  // once they are needed
  WorkDone work_;

  std::int64_t section_ = 0;               // number of recorded main loops that were passed
  bool section_ours_ = false;              // values logged now, outside the loops, are kept
  const store::MainLoop* loop_ = nullptr;  // recorded main loop that is being replayed
  bool random_access_ = false;             // its range can be stepped over, in both directions
  std::vector<std::string> registered_;    // when it began
  std::optional<std::int64_t> restored_;   // its boundary that was restored before it is begun
  Epochs piece_;                           // replayed now, or next; may span main loops
  Epochs target_;                          // the part of it in this main loop, in its iterations
  bool catching_up_ = false;
  std::int64_t epochs_added_ = 0;  // of main loops that are new
  std::set<std::string> met_;  // nested loops that this iteration has come to
  std::set<std::string> executed_;  // and those that it has executed
  /// Whether the state was computed by the program, not just loaded: only then is it worth
  /// comparing with the record.
  bool computed_ = true;
  bool skipped_ = false;           // a loop or an epoch, since the program began
  bool skipped_in_epoch_ = false;  // a loop
  ProgramStart start_;
  double prologue_seconds_ = -1;  // until the first main loop
  std::int64_t visited_ = 0;  // epochs that were asked for
  bool interrupted_told_ = false;
  Clock::time_point part_began_ = Clock::now();

  std::int64_t replay_ = 0;                  // id in the catalog
  std::unique_ptr<Findings> findings_;       // background thread
  Ordinals ordinals_;                        // background thread
  std::unique_ptr<ValueCheck> value_check_;  // background thread
  std::unique_ptr<PartKeeper> keeper_;       // background thread
  std::string failure_;                      // background thread, read after draining
  std::vector<store::ReplayedPart> parts_;   // the same: those that are complete
  std::optional<Background::Hurry> hurry_;
  Clock::time_point began_ = Clock::now();
  std::optional<ReplayFiles> files_;  // of the program's own
};

}  // namespace flor::detail
