// The steps of nested loops that a replay answers, and where in an epoch nothing is left to answer.
#pragma once

#include "protocol/plan.h"
#include "replay/probes.h"
#include "replay/recorded_run.h"
#include "session/runtime.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace flor::detail {

/// The choice of steps of a replay (--flor_step), applied to a recorded run. Without a choice
/// everything is asked for. To be used by the session's thread, except `any` and `asks`, which any
/// thread may call.
///
/// A nested loop is left after its last chosen step, as if it were skipped from there on, unless a
/// later loop of the epoch is to be executed for its own chosen steps: it may read variables that
/// no checkpoint has. So may the next epoch, unless the state before it is stored.
class ChosenSteps {
 public:
  struct Facts {
    const StepChoice& choice;
    const Record& record;
    const Probes& probes;
    /// Every epoch is executed as without a choice.
    bool in_full = false;
    /// The program may log something new in places that the record does not have.
    bool open = false;
  };
  /// All that the facts refer to must outlive this object.
  explicit ChosenSteps(const Facts& facts) : facts_(facts) {}

  bool any() const { return !facts_.choice.empty(); }
  /// Whether a value at this place is asked for.
  bool asks(const store::Place& place) const;

  /// Whether nothing is asked for in this iteration, so that it need not be executed.
  bool asks_nothing(std::int64_t main_loop, std::int64_t iteration) const;
  /// Called when an iteration of a recorded main loop begins. `ours`: it is not only executed to
  /// reach another one.
  void begin_epoch(const Frame& main, bool ours);
  /// Called when the program reaches a nested loop. Returns after how many iterations it may be
  /// left; 0: it may be skipped; nothing: it is to be executed to its end if at all.
  std::optional<std::int64_t> begin_loop(const Frame& main, const Frame& nested);
  /// Notes that the question does not concern this loop.
  void note_unasked(const Frame& nested) { unasked_.insert(nested.name); }
  /// Makes the present nested loop end after so many iterations.
  void leave_after(Frame& nested, std::int64_t iterations);
  /// Notes that a loop is skipped that would be executed if all of its steps were asked for.
  void note_skipped() { shortened_ = true; }
  /// Whether the present epoch was not executed as it would be if all steps were asked for. Then
  /// the state at its end may lack what variables outside of checkpoints had carried there.
  bool shortened() const { return shortened_ || answered_; }
  /// Whether the loop ended since it was made to.
  bool left_early(const Frame& nested, LoopEnd how) const {
    return cut_ == nested.index && how == LoopEnd::exhausted;
  }
  /// Called after an iteration of a nested loop. Returns true, once in an epoch, if nothing is left
  /// to answer in the epoch.
  bool ends_with(const Frame& nested);
  /// Whether nothing is left to answer in the present epoch.
  bool is_answered() const { return answered_; }

 private:
  std::map<std::string, std::int64_t> ends_in(std::int64_t main_loop, std::int64_t iteration) const;

  const Facts facts_;
  std::set<std::string> unasked_;  // names of loops
  // The loops of the present epoch that are still to come and have chosen steps.
  std::map<std::string, std::int64_t> to_come_;
  bool chooses_ = false, answered_ = false, shortened_ = false;
  /// The state at the end of the present epoch is stored, so that the next one does not depend on
  /// how this one was executed.
  bool end_is_stored_ = false;
  /// A loop that the question concerns is not in the record of this epoch: an exception may have
  /// left it.
  bool may_have_failed_ = false;
  std::int64_t end_ = -1, cut_ = -1;  // iterations of the present nested loop; -1: none
};

}  // namespace flor::detail
