// How a replay reaches its epochs: which stored state it starts from, and what it passes through
// where that does not fit.
#include "base/notice.h"
#include "replay/replayer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::detail {

LoopScope::Start Replayer::pass_by(Frame& frame, const store::MainLoop& loop) {
  const bool builds_on_it = builds_on(section_);
  if (builds_on_it && strong_) {  // from the start means every earlier loop, too
    target_ = {loop.iterations, loop.iterations};
    return visit(frame, loop, false);
  }
  skipped_ = true;
  try {
    if (restore_boundary(loop, loop.iterations) || !builds_on_it) return {.visit = false};
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    if (!builds_on_it) {
      say(Level::warn, fmt::format("what follows loop {} runs on the program's own state, since "
                                   "the state at its end does not fit: {}",
                                   loop.name, error.what()));
      return {.visit = false};
    }
  }
  // The state that later code builds on is not stored, or does not fit yet: catch up through the
  // whole rest of the loop.
  target_ = {loop.iterations, loop.iterations};
  return visit(frame, loop, false);
}

void Replayer::aim_at(Frame& frame, Epochs target) {
  target_ = target;
  frame.limit = target.end;
  // Only a loop left by break ended before the range was advanced once more.
  frame.limit_broke = target.end < loop_->iterations || loop_->broke || !loop_->ended;
}

bool Replayer::restore_boundary(const store::MainLoop& loop, std::int64_t iteration) {
  return state_->restore({.main_loop = loop.ordinal, .iteration = iteration, .loop = {}}, {});
}

/// Restores the boundary from which the target is reached. A program that adds layers, parameter
/// groups or registered objects while it trains does not have them when the loop begins: it is
/// walked to where they fit.
std::optional<std::int64_t> Replayer::restore_start(const store::MainLoop& loop) {
  const std::set<std::int64_t>& stored = record_->boundaries(loop.ordinal);
  const auto start = start_boundary(stored, target_.first, strong_);
  if (!start) return start;
  try {
    restore_boundary(loop, *start);
    return start;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    const auto first = start_boundary(stored, target_.first, /*strong=*/true);
    if (first == start) throw;
    restore_boundary(loop, *first);  // throws if it is the program that has changed
    strong_ = true;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has when {} begins "
                    "({}): replay walks there from the start",
                    loop.first_epoch + *start, loop.name, error.what()));
    return first;
  }
}

/// Continues after a target: with the next one in this loop, or out of it.
LoopScope::Move Replayer::go_on(Frame& frame) {
  piece_.first = std::max(piece_.first, frame.first_epoch + target_.end);
  if (piece_.empty()) {
    next_piece({.section = section_,
                .main_loop = frame.ordinal,
                .iteration = frame.index,
                .reach = goes_back() ? Reach::any : Reach::forward});
  }
  show_stored(frame);
  if (const Epochs target = next_target(frame); !target.empty()) {
    aim_at(frame, target);
    return jump(frame);
  }
  if (frame.index < loop_->iterations && builds_on(section_) &&
      (strong_ || !restore_ahead(*loop_, loop_->iterations, frame.index))) {
    aim_at(frame, {loop_->iterations, loop_->iterations});
    return {};
  }
  return {.go_on = !frame.limit_broke};
}

/// Whether earlier states can be restored: not in a program that registers more while it trains, as
/// they no longer fit; and unregistered variables keep the values of later epochs.
bool Replayer::goes_back() const {
  return random_access_ && !strong_ && registry_.names() == registered_;
}

/// Whether code after the section's loop needs the state that the loop leaves. From the start
/// (strong) all remaining work does, however far ahead it is.
bool Replayer::builds_on(std::int64_t section) const {
  if (!piece_.empty()) return true;
  return strong_ ? assignment_->keeps_from(section) : assignment_->keeps(section);
}

LoopScope::Move Replayer::jump(Frame& frame) {
  const auto stored =
      start_boundary(record_->boundaries(loop_->ordinal), target_.first, strong_);
  const std::int64_t here = frame.index;
  skipped_ = true;
  if (target_.first >= here) {
    const std::int64_t ahead = strong_ ? here : std::max(stored.value_or(0), here);
    frame.index = ahead == here || restore_ahead(*loop_, ahead, here) ? ahead : here;
  } else if (stored && random_access_ && !strong_) {
    frame.index = *stored;
  } else {
    throw Error(fmt::format("epoch {} lies behind epoch {}, to where this loop cannot go back",
                            frame.first_epoch + target_.first, frame.first_epoch + here));
  }
  return {.go_on = true, .steps = frame.index - here + 1};
}

/// Tries to restore the state ahead. False, and back in the state of `here`, where the program does
/// not have the objects for it yet: it has to be walked to.
bool Replayer::restore_ahead(const store::MainLoop& loop, std::int64_t ahead, std::int64_t here) {
  try {
    // Another iterator may change the state when it is advanced.
    if (restore_boundary(loop, ahead) && random_access_) restored_ = ahead;
    return true;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    if (!restore_boundary(loop, here)) throw;
    strong_ = true;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has after epoch {} "
                    "({}): replay walks there",
                    loop.first_epoch + ahead, loop.first_epoch + here - 1, error.what()));
    return false;
  }
}

/// Gives the code after the loop the state in which the record left it.
void Replayer::leave_loop_early(const store::MainLoop& loop, std::int64_t reached) {
  if (reached >= loop.iterations || std::exchange(restored_, {}) == loop.iterations) return;
  std::string why = "is not stored";
  try {
    if (restore_boundary(loop, loop.iterations)) return;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {  // e.g. objects that are registered in a later epoch
    why = fmt::format("does not fit: {}", error.what());
  }
  say(Level::warn, fmt::format("what follows loop {} runs on the state after epoch {}, since the "
                               "state at its end {}",
                               loop.name, loop.first_epoch + reached - 1, why));
}

}  // namespace flor::detail
