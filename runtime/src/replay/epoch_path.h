// The nested loops that one iteration of a main loop comes to, and what became of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace flor::detail {

/// Loops have their names within the iteration, "train~2" for the second execution of "train".
/// Belongs to the session's thread; throws nothing but std::bad_alloc.
class EpochPath {
 public:
  /// An iteration begins.
  void begin();
  /// The program came to a nested loop.
  void meet(const std::string& loop) { met_.insert(loop); }
  /// An exception left the loop: then it is not in the record either.
  void forget(const std::string& loop) { met_.erase(loop); }
  /// The loop was left, after it was executed or its recorded end was loaded.
  void leave(const std::string& loop, bool executed);

  /// The state comes from the record from now on, or is computed by the program again.
  void set_computed(bool computed) { computed_ = computed; }
  /// Whether the program computed the state: only then is it worth comparing with the record.
  bool computed() const { return computed_; }
  /// Nested loops that this iteration has executed.
  const std::set<std::string>& executed() const { return executed_; }
  /// Whether this iteration has skipped no loop.
  bool is_whole() const { return !skipped_; }
  /// Whether any loop was skipped since the program began.
  bool ever_skipped() const { return ever_skipped_; }

  /// How the way through `epoch` differs from the recorded one, a sentence each. `recorded`: the
  /// loops that the record executed in it. `known`: names of all recorded loops, without the number
  /// of the execution; a loop that is new is no difference.
  std::vector<std::string> differences(const std::set<std::string>& recorded,
                                       const std::set<std::string>& known,
                                       std::int64_t epoch) const;

 private:
  std::set<std::string> met_, executed_;
  bool computed_ = true, skipped_ = false, ever_skipped_ = false;
};

}  // namespace flor::detail
