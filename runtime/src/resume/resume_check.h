// Executes an iteration that was complete, or the last stretch of a long one, once more before a
// resumed run goes on, and compares it with the record: state that the program did not register
// shows there.
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

/// Which iteration is executed again, and how much of it.
struct CheckPlan {
  std::int64_t iteration = -1;     ///< of the main loop of the resume point; -1: none
  std::optional<Stretch> stretch;  ///< of that iteration; nothing: all of it
  double budget = 0;               ///< seconds
  double recorded = 0;             ///< seconds that the iteration, or the stretch, took
  std::string why_not;             ///< where there is none

  bool fits() const { return recorded <= budget; }
};

/// The last iteration before the point whose beginning is stored, in every rank. Where that takes
/// longer than the budget, or where there is none, the stretch before the point, from the nearest
/// checkpoint inside an iteration. `budget`: seconds; nothing: 1 % of what was computed so far, at
/// least 10.
CheckPlan plan_check(const store::Store& store, const store::Run& run,
                     const store::ResumePoint& point, std::optional<double> budget);

/// `keep` belongs to the background thread, all else to the session's; both are not at work at once
/// after `conclude` was called.
class ResumeCheck {
 public:
  /// The iteration that an exception ended has the same number as the first one of the next main
  /// loop: `main_loop` tells them apart. `exact`: the sources are the recorded ones, so that the
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

  /// The rest of a nested loop is not executed but loaded, and what follows with it.
  void cut(const std::string& where);
  bool is_cut() const { return !cut_.empty(); }

  /// Counts what was recorded and did not come.
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
