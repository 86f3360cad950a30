// Which epochs a process replays, and from which boundary (checkpoint between epochs) it starts.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace flor::store {
struct LoopExecution;
}

namespace flor::detail {

/// A range of epochs that includes `first` and excludes `end`.
struct Epochs {
  std::int64_t first = 0, end = 0;
  std::int64_t count() const { return end - first; }
  bool empty() const { return end <= first; }
  bool operator==(const Epochs&) const = default;
};

/// Cuts `epochs` epochs into `segments` contiguous segments, whose sizes differ by at most one,
/// larger ones first, and returns the segment with the 0-based index `segment`. If there are more
/// segments than epochs, the last ones are empty.
Epochs segment_of(std::int64_t epochs, std::int64_t segment, std::int64_t segments);

/// The part of `segment` that belongs to a main loop whose iterations are the epochs [first, first
/// + iterations). The result counts iterations of that loop.
Epochs part_of_loop(Epochs segment, std::int64_t first, std::int64_t iterations);

/// Parses the number of an epoch; nothing if the text is anything else.
std::optional<std::int64_t> parse_epoch(std::string_view text);

/// Parses "3", "2..5" (both included), "7..", "..4", and lists of these such as "0,4..6". Ranges
/// are sorted, and joined if they overlap or touch. An open end becomes INT64_MAX. Throws
/// UsageError.
std::vector<Epochs> parse_epoch_list(std::string_view text);

/// The iterations of nested loops that a replay answers, as "0,10..20,last" chooses them of each
/// execution of a nested loop.
struct StepChoice {
  std::vector<Epochs> ranges = {};  ///< of steps; sorted, and none touches another
  std::int64_t sample = 0;          ///< so many spread over the execution, with its last one
  bool last = false;

  bool empty() const { return ranges.empty() && sample == 0 && !last; }
  /// Whether the step of an execution with so many iterations is chosen; of one whose length is not
  /// known (below 0) only those are that are chosen by number.
  bool has(std::int64_t step, std::int64_t iterations) const;
  /// The number of iterations that end with the last chosen one; 0 if none is chosen.
  std::int64_t end_in(std::int64_t iterations) const;
  /// The choice in the shortest form, which `parse` understands: equal choices have equal texts.
  std::string text() const;
  bool operator==(const StepChoice&) const = default;

  /// Parses a list as for epochs, in which `last` stands for the last iteration; or "sample:N".
  /// Throws UsageError.
  static StepChoice parse(std::string_view text);
};

/// "step 12", "steps 0, 10 to 20 and the last one", "5 steps of each loop, spread over it".
std::string print_steps(const StepChoice& choice);

/// Throws UsageError if the choice has no step of any of these executions of nested loops.
void require_steps(const StepChoice& choice, const std::vector<store::LoopExecution>& executions);

/// The part of a list that exists in a run of `epochs` epochs. Throws UsageError if the list names
/// an epoch that the run does not have.
std::vector<Epochs> within_run(std::vector<Epochs> list, std::int64_t epochs);

/// Throws UsageError if the list has an epoch before `first`. A run that began from the state of
/// another run has copied those epochs from it; `parent` is the key of that run, for the message.
void refuse_copied(const std::vector<Epochs>& list, std::int64_t first, std::string_view parent);

/// The number of epochs in the list.
std::int64_t count_of(const std::vector<Epochs>& list);

/// "epochs 3 to 5", "epoch 3" or "no epoch"; for a list "epochs 0, 4 to 6".
std::string print_epochs(Epochs epochs);
std::string print_epochs(const std::vector<Epochs>& list);

/// The boundary from which iteration `target` can be visited next: the last stored one at or before
/// `target`, or with `strong` the first stored one. Nothing if there is none.
std::optional<std::int64_t> start_boundary(const std::set<std::int64_t>& stored,
                                           std::int64_t target, bool strong);

/// How many epochs are to be executed to verify the findings of a replay.
struct VerifyWish {
  /// If not given: one epoch, if that costs little.
  std::optional<std::int64_t> count;
  bool all = false;

  bool none() const { return count == 0; }
  /// Parses N, "all" or "none". Throws UsageError, whose text begins with `flag`.
  static VerifyWish parse(std::string_view flag, std::string_view text);
};

}  // namespace flor::detail
