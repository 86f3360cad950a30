// The record of a run in the form that a replay needs.
#pragma once

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace flor::detail {

/// The record of a run, indexed by place.
class Record {
 public:
  /// Whose checkpoints may be loaded. Ranks that load at different places would wait for each other
  /// in different collective operations, so they load only what all ranks have.
  enum class Places { own, of_all_ranks };
  Record(const store::Catalog& catalog, const store::Run& run, Places places = Places::own);

  /// For a run that was forked from another: leaves out the boundaries from which only that other
  /// run can be replayed, since its arguments and sources may differ.
  void leave_out_copied(const store::Catalog& catalog);
  /// Leaves, of the checkpoints that can be loaded, only the boundaries `starts` (main loop,
  /// iteration), with the locals of the loops that begin there. The others are as if they were not
  /// stored, but for `compared`.
  void load_only(std::span<const std::pair<std::int64_t, std::int64_t>> starts);

  std::int64_t run() const { return run_; }

  const store::MainLoop* main_loop(const std::string& name) const;
  const std::vector<store::MainLoop>& main_loops() const { return main_loops_; }
  /// The id of the checkpoint taken there, if it is stored; below 0 if it is elsewhere
  /// (store::Elsewhere).
  std::optional<std::int64_t> checkpoint(const store::CheckpointKey& key) const;
  /// The same, of a checkpoint to compare with, which need not be one that may be loaded.
  std::optional<std::int64_t> compared(const store::CheckpointKey& key) const;
  /// The iterations from which a replay of this main loop can begin, since the state before them is
  /// stored. The total number of iterations is among them if the state at the end is stored.
  const std::set<std::int64_t>& boundaries(std::int64_t main_loop) const;
  /// The iterations from which a replay can begin, by main loop. A loop without stored boundaries
  /// may be absent.
  const std::map<std::int64_t, std::set<std::int64_t>>& boundaries() const { return boundaries_; }
  const store::LoopExecution* execution(const store::CheckpointKey& key) const;
  /// Whether the nested loop may have been left by a `return` that also left its main loop. Then
  /// the code after the nested loop may never have been executed, so the loop cannot be skipped.
  bool main_loop_may_have_been_left_from(const store::CheckpointKey& nested_end) const;
  /// Whether some nested loop was left before its range was exhausted.
  bool nested_left_early() const;
  /// Names of the nested loops, without the numbers that distinguish repeated executions.
  const std::set<std::string>& nested_loops() const { return nested_; }
  /// The nested loops that the recording executed in an iteration.
  std::set<std::string> executed_in(std::int64_t main_loop, std::int64_t iteration) const;
  std::int64_t epochs() const { return epochs_; }
  /// The first epoch that this run itself computed; 0 until `leave_out_copied` is called.
  std::int64_t first_epoch() const { return first_epoch_; }

 private:
  using Key = std::tuple<int, std::int64_t, std::int64_t, std::string>;
  static Key index(const store::CheckpointKey& key);
  void keep_places_of(const Record& other);
  void leave_out_starts_without_entries(const std::vector<store::LoopExecution>& executions);
  void find_last_executions(const std::vector<store::LoopExecution>& executions);

  std::int64_t run_;
  std::vector<store::MainLoop> main_loops_;
  std::map<Key, std::int64_t> checkpoints_;
  std::map<Key, std::int64_t> compared_;  // empty: the same
  std::map<std::int64_t, std::set<std::int64_t>> boundaries_;
  std::map<Key, store::LoopExecution> executions_;
  std::set<Key> left_from_;
  std::set<std::string> nested_;
  std::int64_t epochs_ = 0, first_epoch_ = 0;
};

}  // namespace flor::detail
