// Replaying: which iterations are visited, what is loaded instead of executed, and whether what is
// executed again comes out as it was recorded.
#pragma once

#include "conclusion.h"
#include "plan.h"
#include "probes.h"
#include "record.h"
#include "recorded_state.h"
#include "runtime.h"
#include "value_check.h"
#include "verdict.h"

#include <flor/store/store.h>

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
  bool catching_up() const override { return catching_up_; }
  /// Nothing is left for this segment to do; it has been said.
  bool empty() const { return segment_.empty() && flags_.segment > 0; }

  void arrive(Frame& frame, bool gone) override;
  std::optional<std::string> argument_text(std::string_view name) override;
  void note_argument(const store::Argument& argument) override;
  void invalidate_checkpoints(std::string_view) noexcept override {}
  ExitStatus finish(bool failed, std::string_view message) noexcept override;
  void abandon(std::string_view) noexcept override {}

 protected:
  LoopScope::Start begin_main(Frame& frame, bool random_access) override;
  bool enter_main(Frame& frame) override;
  bool leave_main(Frame& frame) override;
  void end_main(Frame& frame, LoopEnd how) override;
  LoopScope::Start begin_nested(Frame& frame) override;
  void end_nested(Frame& frame, LoopEnd how) override;
  void keep(LogBatch batch) override;

 private:
  void announce() const;
  void check_probes() const;
  LoopScope::Start pass_by(Frame& frame, const store::MainLoop& loop);
  LoopScope::Start visit(Frame& frame, const store::MainLoop& loop, bool random_access);
  void leave_loop_early(const store::MainLoop& loop, std::int64_t reached);
  /// What follows a main loop belongs to the segment that holds the loop's last iteration.
  void suppress_after(const store::MainLoop& loop);

  void compare_path(const Frame& main);

  store::Run run_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<Probes> probes_;  // none where there is nothing to do
  Epochs segment_;
  std::map<std::string, store::Argument> arguments_;
  Comparison comparison_;
  std::unique_ptr<RecordedState> state_;
  ReplayWork work_;

  std::int64_t main_loops_passed_ = 0;     // of the recorded ones
  const store::MainLoop* loop_ = nullptr;  // recorded main loop that is being replayed
  Epochs target_;                          // iterations of it that this segment asks for
  bool catching_up_ = false;
  std::set<std::string> met_;  // nested loops that this iteration has come to
  /// The state is what the program computed, not what was loaded a moment ago: comparing it with
  /// the record says something.
  bool computed_ = true;
  std::int64_t visited_ = 0;  // epochs of the segment
  bool interrupted_told_ = false;

  std::int64_t replay_ = 0;                          // id in the catalog
  std::unique_ptr<store::CheckpointWriter> writer_;  // background thread: logged contents
  Ordinals ordinals_;                                // background thread
  std::unique_ptr<ValueCheck> value_check_;          // background thread
  std::string failure_;                              // background thread, read after draining
  Clock::time_point began_ = Clock::now();
};

}  // namespace flor::detail
