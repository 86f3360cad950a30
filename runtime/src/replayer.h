// Replaying: which iterations are visited, what is loaded instead of executed, and whether what is
// executed again comes out as it was recorded.
#pragma once

#include "plan.h"
#include "runtime.h"
#include "verdict.h"

#include <flor/store/store.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace flor::detail {

/// The record of a run, indexed by place.
class Record {
 public:
  Record(const store::Catalog& catalog, const store::Run& run);

  const store::MainLoop* main_loop(const std::string& name) const;
  const std::vector<store::MainLoop>& main_loops() const { return main_loops_; }
  /// Id of the checkpoint taken there, if it is stored.
  std::optional<std::int64_t> checkpoint(const store::CheckpointKey& key) const;
  const std::set<std::int64_t>& boundaries(std::int64_t main_loop) const;
  const store::LoopExecution* execution(const store::CheckpointKey& key) const;
  /// The loop may have been left by a `return` that left its main loop, too: code that follows it
  /// was perhaps never executed, so it cannot be skipped.
  bool main_loop_may_have_been_left_from(const store::CheckpointKey& nested_end) const;
  /// Names of the nested loops, without the number of the execution.
  std::set<std::string> nested_loops() const;
  /// The nested loops that were executed in an iteration.
  std::set<std::string> executed_in(std::int64_t main_loop, std::int64_t iteration) const;
  std::int64_t epochs() const { return epochs_; }

 private:
  using Key = std::tuple<int, std::int64_t, std::int64_t, std::string>;
  static Key index(const store::CheckpointKey& key);
  void find_last_executions(const std::vector<store::LoopExecution>& executions);

  std::vector<store::MainLoop> main_loops_;
  std::map<Key, std::int64_t> checkpoints_;
  std::map<std::int64_t, std::set<std::int64_t>> boundaries_;
  std::map<Key, store::LoopExecution> executions_;
  std::set<Key> left_from_;
  std::int64_t epochs_ = 0;
};

class Replayer : public Runtime {
 public:
  explicit Replayer(Flags flags);
  ~Replayer() override;

  Mode mode() const override { return Mode::replay; }
  const store::Run& run() const override { return run_; }
  bool catching_up() const override { return catching_up_; }
  /// Nothing is left for this segment to do; it has been said.
  bool empty() const { return segment_.empty() && flags_.segment > 0; }

  void arrive(Frame& frame) override;
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
  bool begin_nested(Frame& frame) override;
  void end_nested(Frame& frame, LoopEnd how) override;
  void keep(LogBatch batch) override;

 private:
  /// How often a nested loop was skipped and executed in the epochs that were asked for.
  struct Count {
    std::int64_t skipped = 0, executed = 0;
  };
  struct Recorded {
    std::unordered_map<std::string, store::Value> values;  // by identity
  };

  void announce() const;
  void check_probes() const;
  bool probed(const Frame& frame) const;
  LoopScope::Start pass_by(Frame& frame, const store::MainLoop& loop);
  LoopScope::Start visit(Frame& frame, const store::MainLoop& loop, bool random_access);
  void leave_loop_early(const store::MainLoop& loop, std::int64_t reached);
  void suppress(bool suppressed);
  /// What follows a main loop belongs to the segment that holds the loop's last iteration.
  void suppress_after(const store::MainLoop& loop);

  const store::CheckpointReader& reader(std::int64_t checkpoint);
  bool restore_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached);
  /// Gives the attached locals of a loop the values that they had when it began.
  void restore_entry(const store::CheckpointKey& nested_end, const std::vector<Slot>& attached);
  bool has_attached(std::int64_t checkpoint, const std::vector<Slot>& attached);
  void compare_path(const Frame& main);
  void compare_state(const store::CheckpointKey& key, const std::string& where,
                     const std::vector<Slot>& attached);
  const Recorded& recorded_values(std::int64_t epoch);
  std::string content_digest(const store::Value& value) const;
  void conclude(double seconds);
  std::string likely_cause() const;

  store::Run run_;
  std::unique_ptr<Record> record_;
  Epochs segment_;
  std::map<std::string, store::Argument> arguments_;
  Comparison comparison_;
  std::int64_t open_checkpoint_ = 0;  // the one that `reader_` reads
  std::unique_ptr<store::CheckpointReader> reader_;

  std::int64_t main_loops_passed_ = 0;     // of the recorded ones
  const store::MainLoop* loop_ = nullptr;  // recorded main loop that is being replayed
  Epochs target_;                          // iterations of it that this segment asks for
  bool catching_up_ = false;
  std::set<std::string> met_;  // nested loops that this iteration has come to
  /// The state is what the program computed, not what was loaded a moment ago: comparing it with
  /// the record says something.
  bool computed_ = true;
  std::int64_t visited_ = 0;  // epochs of the segment
  std::int64_t restored_ = 0;
  std::uint64_t restored_bytes_ = 0;
  std::map<std::string, Count> nested_;
  bool told_random_ = false, told_stale_ = false;
  bool interrupted_told_ = false;

  std::int64_t replay_ = 0;                          // id in the catalog
  std::unique_ptr<store::CheckpointWriter> writer_;  // background thread: logged contents
  Ordinals ordinals_;                                // background thread
  std::map<std::int64_t, Recorded> recorded_;        // background thread
  std::string failure_;                              // background thread, read after draining
  Clock::time_point began_ = Clock::now();
};

}  // namespace flor::detail
