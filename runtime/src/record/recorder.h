// Recording: takes snapshots on the training thread, and does everything else in the background.
#pragma once

#include "record/early_end.h"
#include "record/group_member.h"
#include "record/loop_recorder.h"
#include "record/run_arguments.h"
#include "record/run_storage.h"
#include "record/source_packing.h"
#include "record/training_news.h"
#include "resume/resumer.h"
#include "session/runtime.h"

#include <flor/store/store.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// Passes the events of a session on to the parts of a recording. No function throws into the
/// training: failures are reported, the program continues, and data that could not be written is
/// written later or becomes a gap of the run.
class Recorder : public Runtime {
 public:
  /// Commits the sources and enters a new run into the catalog, or continues the run to be resumed.
  /// Throws if that is not possible.
  explicit Recorder(Flags flags);
  ~Recorder() override;

  Mode mode() const override { return Mode::record; }
  const store::Run& run() const override { return run_; }
  ProgramFiles& files() override { return *files_; }

  bool catching_up() const override { return resumer_.rehearses() || resumer_.checks(); }

  void arrive(Frame& frame, bool gone) override { resumer_.arrive(frame, gone); }
  std::optional<std::string> argument_text(std::string_view name, Fallback fallback) override;
  void note_argument(const store::Argument& argument) override;
  std::optional<store::Value> recorded_pinned(std::string_view name) override;
  void fence() noexcept override { loops_.taker().fence(); }
  void settle() noexcept override { loops_.taker().settle(); }
  void keep_checkpoints(const store::CheckpointStrategy& strategy) override;
  std::string save_checkpoint(std::string_view name, const std::map<std::string, double>& scores,
                              std::vector<Slot> objects) override;
  void score_checkpoint(std::string_view name,
                        const std::map<std::string, double>& scores) override;
  std::optional<store::FoundCheckpoint> find_checkpoint(bool best) override;
  ExitStatus finish(bool failed, std::string_view message) noexcept override;
  void failed_after_all(std::string_view why) noexcept override { storage_.fail_after_end(why); }
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
  /// Ends the process because of a signal: after a step of the loop `nested`, or elsewhere if it is
  /// null.
  [[noreturn]] void preempt(const Frame* nested, const std::string& where);

  Clock::time_point began_ = Clock::now();
  store::Run run_;
  std::optional<SourcePacking> packing_;  // only in the rank that committed the sources
  GroupMember group_;
  RunStorage storage_;
  LoopRecorder loops_;
  EarlyEnd early_end_;
  Resumer resumer_;
  RunArguments arguments_;
  std::optional<RecordedFiles> files_;  // since the constructor
  Ordinals ordinals_;   // background thread
  NanWatch nan_watch_;  // background thread
  bool resumed_ = false;
  std::string forked_;  // see Continuation
};

}  // namespace flor::detail
