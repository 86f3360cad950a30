// The nested loops that an iteration of a main loop reached, and whether they were skipped or
// executed.
#pragma once

#include "verdict/value_check.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// The course of the nested loops of the present iteration. Loops are called by their names
/// within the iteration: "train~2" for the second execution of "train". To be used by the session's
/// thread; throws only std::bad_alloc.
class EpochPath {
 public:
  /// Called when an iteration begins.
  void begin();
  /// Called when the program reaches a nested loop.
  void meet(const std::string& loop) { met_.insert(loop); }
  /// Called when an exception left the loop, which is then not in the record either.
  void forget(const std::string& loop) { met_.erase(loop); }
  /// Called when the loop was left, after it was executed or its recorded end was loaded.
  void leave(const std::string& loop, bool executed);
  /// The same for a loop that was executed up to this number of iterations, before its recorded end
  /// was loaded.
  void leave_early(const std::string& loop, std::int64_t iterations);

  /// Tells whether the state is from now on computed by the program, or comes from the record.
  void set_computed(bool computed) { computed_ = computed; }
  /// Whether the program computed the present state. Only then is it worth comparing with the
  /// record.
  bool computed() const { return computed_; }
  /// The nested loops that were executed in this iteration, and how far: kAllSteps if to their
  /// ends.
  const ExecutedLoops& executed() const { return executed_; }
  /// Whether no loop was skipped in this iteration.
  bool is_whole() const { return !skipped_; }
  /// Whether no loop was skipped before the last one that was executed. Then what was logged inside
  /// loops was computed from the beginning of the iteration on.
  bool is_whole_in_loops() const { return whole_in_loops_; }
  /// Whether any loop was skipped since the program began.
  bool ever_skipped() const { return ever_skipped_; }

  /// How the loops reached in `epoch` differ from the recorded ones, a sentence for each.
  /// `recorded`: the loops that the recording executed in this epoch. `known`: names of all
  /// recorded loops, without the number of the execution; a loop that is new is no difference.
  std::vector<std::string> differences(const std::set<std::string>& recorded,
                                       const std::set<std::string>& known,
                                       std::int64_t epoch) const;

 private:
  std::set<std::string> met_;
  ExecutedLoops executed_;
  bool computed_ = true, skipped_ = false, whole_in_loops_ = true, ever_skipped_ = false;
};

}  // namespace flor::detail
