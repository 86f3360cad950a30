// The check before a resumed run continues: executes a complete iteration, or the last section of a
// long one, once more, and compares it with the record. This reveals state that the program did not
// register.
#pragma once

#include "replay/recorded_run.h"
#include "session/journal.h"
#include "verdict/value_check.h"
#include "verdict/verdict.h"

#include <flor/store/store.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace flor::detail {

/// How many seconds an iteration and its nested loop had taken when a checkpoint inside them was
/// made.
struct Elapsed {
  double iteration = 0, loop = 0;
};
Elapsed elapsed_at(const store::Store& store, std::int64_t checkpoint);

/// Iterations of one nested loop. They begin at a stored checkpoint or at the beginning of the
/// loop, and end at the resume point or at the end of the loop. Positions are numbers of complete
/// iterations.
struct Stretch {
  std::string loop;
  std::int64_t from = 0;
  std::optional<std::int64_t> to;  ///< the point; nothing: the end of the loop

  bool operator==(const Stretch&) const = default;
};

/// The iteration to execute again, or a part of it.
struct CheckPlan {
  std::int64_t iteration = -1;     ///< in the main loop of the resume point; -1: none
  std::optional<Stretch> stretch;  ///< the part of it; nothing: all of it
  double budget = 0;               ///< permitted seconds
  double recorded = 0;             ///< seconds that it took in the recording
  std::string why_not;             ///< if there is none: the reason

  bool fits() const { return recorded <= budget; }
};

/// Whether epochs that a forked run has copied from its parent may be executed again. They may not
/// if the arguments or sources differ from the parent's.
enum class Copied { left_out, checked };

/// Chooses the last iteration before the point whose beginning is stored in every rank. If it takes
/// longer than the budget, or there is none, chooses the section before the point, from the nearest
/// checkpoint inside an iteration. `budget` is in seconds; by default 1 % of the computing time so
/// far, but at least 10 s.
CheckPlan plan_check(const store::Store& store, const store::Run& run,
                     const store::ResumePoint& point, std::optional<double> budget,
                     Copied copied = Copied::left_out);

/// Compares what the program computes again with the record. `keep` belongs to the background
/// thread, everything else to the session's. After the call of `conclude` the two threads do not
/// use the object at the same time.
class ResumeCheck {
 public:
  /// An iteration that ended by an exception has the same epoch number as the first iteration of
  /// the next main loop; `main_loop` distinguishes them. `exact`: the sources are the recorded
  /// ones, so the same values have to come.
  ResumeCheck(const store::Store& store, std::int64_t run, std::int64_t epoch,
              const std::string& main_loop, const std::optional<Stretch>& stretch, bool exact);

  std::int64_t epoch() const { return epoch_; }
  Comparison& comparison() { return comparison_; }
  ValueCheck& values() { return values_; }
  Ordinals& ordinals() { return ordinals_; }

  void begin() { began_ = std::chrono::steady_clock::now(); }
  double seconds() const;
  void keep(const store::Value& value);

  /// Notes that the rest of a nested loop, and the loops after it, are loaded instead of executed.
  void cut(const std::string& where);
  bool is_cut() const { return !cut_.empty(); }

  /// Counts the recorded values that did not come.
  void conclude();
  bool passed() const;
  /// For example "epoch 6 computed again, 41 values and 2 states equal (1.2 s)", or for a stretch
  /// "epoch 6 computed again from step 900 of train up to its end".
  std::string outcome() const;
  /// For example "1 of 41 values and 1 of 2 states differ: loss at epoch 6: 0.1 was recorded, now
  /// 0.2".
  std::string difference() const;

 private:
  bool expects(const store::Value& recorded, const std::string& main_loop) const;
  std::string extent() const;

  std::map<std::string, std::int64_t> recorded_;  // number of values by name
  std::map<std::string, std::int64_t> seen_;
  std::int64_t epoch_;
  std::optional<Stretch> stretch_;
  bool exact_;
  std::string cut_;
  Comparison comparison_;
  ValueCheck values_;
  Ordinals ordinals_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace flor::detail
