// Before a resumed run continues, executes an iteration that was complete, or the last section of a
// long one, once more, and compares it with the record: this reveals state that the program did not
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

/// Seconds that an iteration and a nested loop had taken at a checkpoint inside of them.
struct Elapsed {
  double iteration = 0, loop = 0;
};
Elapsed elapsed_at(const store::Store& store, std::int64_t checkpoint);

/// Iterations of one nested loop, by how many are complete: from a stored checkpoint, or from the
/// beginning of the loop, to the point or to the end of the loop.
struct Stretch {
  std::string loop;
  std::int64_t from = 0;
  std::optional<std::int64_t> to;  ///< the point; nothing: to the end of the loop

  bool operator==(const Stretch&) const = default;
};

/// The iteration to execute again, and how much of it.
struct CheckPlan {
  std::int64_t iteration = -1;     ///< of the main loop of the resume point; -1: none
  std::optional<Stretch> stretch;  ///< the part of it; nothing: all of it
  double budget = 0;               ///< seconds
  double recorded = 0;             ///< seconds that the iteration, or the stretch, took
  std::string why_not;             ///< where there is none

  bool fits() const { return recorded <= budget; }
};

/// Whether epochs that a forked run has from another one may be executed again: not with arguments
/// or sources that are not those of that run.
enum class Copied { left_out, checked };

/// The last iteration before the point whose beginning is stored, in every rank. If that takes
/// longer than the budget, or there is none, the section before the point, from the nearest
/// checkpoint inside an iteration. `budget`: seconds; nothing: 1 % of the computing time so far, at
/// least 10.
CheckPlan plan_check(const store::Store& store, const store::Run& run,
                     const store::ResumePoint& point, std::optional<double> budget,
                     Copied copied = Copied::left_out);

/// `keep` belongs to the background thread, all else to the session's; the two do not run at the
/// same time after `conclude` was called.
class ResumeCheck {
 public:
  /// An iteration that an exception ended has the same number as the first one of the next main
  /// loop: `main_loop` distinguishes them. `exact`: the sources are the recorded ones, so that the
  /// same values have to come.
  ResumeCheck(const store::Store& store, std::int64_t run, std::int64_t epoch,
              const std::string& main_loop, const std::optional<Stretch>& stretch, bool exact);

  std::int64_t epoch() const { return epoch_; }
  Comparison& comparison() { return comparison_; }
  ValueCheck& values() { return values_; }
  Ordinals& ordinals() { return ordinals_; }

  void begin() { began_ = std::chrono::steady_clock::now(); }
  double seconds() const;
  void keep(const store::Value& value);

  /// The rest of a nested loop is loaded, not executed; so are the loops after it.
  void cut(const std::string& where);
  bool is_cut() const { return !cut_.empty(); }

  /// Counts recorded values that did not come.
  void conclude();
  bool passed() const;
  /// "epoch 6 computed again, 41 values and 2 states equal (1.2 s)"; of a stretch, "epoch 6
  /// computed again from step 900 of train up to its end"
  std::string outcome() const;
  /// "1 of 41 values and 1 of 2 states differ: loss at epoch 6: 0.1 was recorded, now 0.2"
  std::string difference() const;

 private:
  bool expects(const store::Value& recorded, const std::string& main_loop) const;
  std::string extent() const;

  std::map<std::string, std::int64_t> recorded_;  // values by name
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
