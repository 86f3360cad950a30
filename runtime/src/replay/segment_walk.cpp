#include "replay/segment_walk.h"

#include "base/notice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::detail {
namespace {

void announce_way(const Frame& frame, std::int64_t target) {
  const std::int64_t epochs = target - frame.index;
  say(Level::result,
      fmt::format("the nearest stored state is that before epoch {}: {} {} executed on the way to "
                  "epoch {}",
                  frame.first_epoch + frame.index, epochs, epochs == 1 ? "epoch is" : "epochs are",
                  frame.first_epoch + target));
}

}  // namespace

std::optional<LoopScope::Start> SegmentWalk::begin(const store::MainLoop& loop, Frame& frame,
                                                   bool random_access) {
  loop_ = &loop;
  section_ = std::max(section_, loop.ordinal + 1);
  frame.ordinal = loop.ordinal;
  frame.first_epoch = loop.first_epoch;
  random_access_ = random_access;
  registered_ = registry_.names();
  if (piece_.end <= loop.first_epoch) {
    piece_ = host_.next_piece({.section = section_,
                               .main_loop = loop.ordinal,
                               .iteration = 0,
                               .reach = random_access ? Reach::any : Reach::forward});
  }
  answer_from_store(frame);
  target_ = next_target(frame);
  if (!target_.empty()) return visit(frame, random_access);
  if (is_over()) return std::nullopt;
  return pass_by(frame);
}

LoopScope::Start SegmentWalk::begin_new(Frame& frame) {
  loop_ = nullptr;
  frame.ordinal = -1;
  if (section_ < static_cast<std::int64_t>(record_.loops.size())) {
    throw Error(fmt::format(
        "the record has no main loop '{}'; its next one is '{}': give the loop its recorded name, "
        "or write a loop that is new here without flor::loop",
        frame.component, record_.loops[static_cast<std::size_t>(section_)].name));
  }
  if (record_.finished) {
    // The loop was added after the recording: its epochs follow the recorded ones, and every
    // process visits them.
    frame.first_epoch = record_.epochs + epochs_added_;
    return {};
  }
  say(Level::warn, fmt::format("the record ends before loop {}: neither it nor what the program "
                               "logs after it is replayed",
                               frame.component));
  return {.visit = false};
}

LoopScope::Start SegmentWalk::visit(Frame& frame, bool random_access) {
  const store::MainLoop& loop = *loop_;
  const auto start = restore_start();
  frame.index = start.value_or(0);
  aim_at(frame, target_);
  // Beginning an iterator that is more than a position may depend on the state, as when a sampler
  // draws its permutation. So the recorded state at the beginning is restored first, whichever
  // state is restored afterwards.
  const bool begins_anew = !random_access && start && *start > 0;
  if (begins_anew) host_.restore_boundary(loop, 0);
  if (!start && loop.first_epoch + target_.first > 0) {
    comparison_.difference(
        part_of(frame),
        fmt::format("no boundary before epoch {} is stored: replay started from the program's own "
                    "state",
                    loop.first_epoch + target_.first));
  }
  if (frame.index >= frame.limit) {
    if (begins_anew) host_.restore_boundary(loop, frame.index);
    return {.visit = false};
  }
  if (frame.index > 0) skipped_ = true;
  if (frame.index < target_.first && !strong_) announce_way(frame, target_.first);
  if (!begins_anew && frame.index > 0) restored_ = frame.index;
  return {.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

bool SegmentWalk::must_restore(std::int64_t iteration) {
  return std::exchange(restored_, {}) != iteration;
}

std::int64_t SegmentWalk::part_of(const Frame& main) const {
  if (main.index < target_.first && target_.first == loop_->iterations) {  // this loop is passed by
    return piece_.empty() ? store::part_outside(section_) : piece_.first;
  }
  return main.first_epoch + std::max(main.index, target_.first);
}

LoopScope::Move SegmentWalk::leave(Frame& frame) {
  return frame.index < target_.end ? LoopScope::Move{} : go_on(frame);
}

Epochs SegmentWalk::unvisited(const Frame& frame) const {
  if (!frame.visited || frame.index >= target_.end) return {};
  return {frame.first_epoch + std::max(frame.index, target_.first),
          frame.first_epoch + target_.end};
}

bool SegmentWalk::end(const Frame& frame) {
  catching_up_ = ahead_ = false;
  const std::int64_t end = loop_->first_epoch + loop_->iterations;
  if (!piece_.empty() && piece_.end <= end) {
    piece_ = host_.next_piece({.section = section_, .main_loop = frame.ordinal + 1});
  }
  return !is_over();
}

const std::set<std::int64_t>& SegmentWalk::boundaries() const {
  static const std::set<std::int64_t> none;
  const auto found = record_.boundaries.find(loop_->ordinal);
  return found == record_.boundaries.end() ? none : found->second;
}

/// Takes the next piece. Earlier states do not fit a program that registers more while it trains,
/// and unregistered variables keep the values of later epochs.
void SegmentWalk::take_piece(const Frame& frame, std::int64_t iteration) {
  const bool goes_back = random_access_ && !strong_ && registry_.names() == registered_;
  piece_ = host_.next_piece({.section = section_,
                             .main_loop = frame.ordinal,
                             .iteration = iteration,
                             .reach = goes_back ? Reach::any : Reach::forward});
}

bool SegmentWalk::is_over_in(const Frame& frame) {
  const std::int64_t next = frame.index + 1;
  piece_.first = std::max(piece_.first, frame.first_epoch + next);
  if (!piece_.empty()) return false;
  ahead_ = true;
  if (next < loop_->iterations) {
    take_piece(frame, next);
  } else {
    piece_ = host_.next_piece({.section = section_, .main_loop = frame.ordinal + 1});
  }
  return is_over();
}

/// The next iterations of this loop to be executed.
Epochs SegmentWalk::next_target(const Frame& frame) const {
  Epochs target = part_of_loop(piece_, frame.first_epoch, loop_->iterations);
  for (std::int64_t i = target.first + 1; i < target.end; ++i) {
    if (host_.is_answered_from_store(*loop_, i)) target.end = i;
  }
  return target;
}

/// Answers the next iterations of this loop that can be answered from their stored state.
/// Afterwards `piece_` is empty, lies after this loop, or begins with an epoch that has to be
/// executed.
void SegmentWalk::answer_from_store(Frame& frame) {
  for (;;) {
    const Epochs here = part_of_loop(piece_, frame.first_epoch, loop_->iterations);
    if (here.empty() || !host_.is_answered_from_store(*loop_, here.first)) return;
    host_.answer_from_store(frame, here.first);
    ++piece_.first;
    if (piece_.empty()) take_piece(frame, frame.index);
  }
}

LoopScope::Start SegmentWalk::pass_by(Frame& frame) {
  const store::MainLoop& loop = *loop_;
  const bool builds_on_it = builds_on();
  if (builds_on_it && strong_) {  // a strong walk also executes every earlier loop
    target_ = {loop.iterations, loop.iterations};
    return visit(frame, false);
  }
  skipped_ = true;
  try {
    if (host_.restore_boundary(loop, loop.iterations) || !builds_on_it) return {.visit = false};
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
  // The state that later code needs is not stored, or does not fit yet: executes the whole rest of
  // the loop.
  target_ = {loop.iterations, loop.iterations};
  return visit(frame, false);
}

void SegmentWalk::aim_at(Frame& frame, Epochs target) {
  target_ = target;
  frame.limit = target.end;
  // Only a loop that was left by `break` ended before its range was advanced once more.
  frame.limit_broke = target.end < loop_->iterations || loop_->broke || !loop_->ended;
}

/// Restores the boundary from which the target is reached. A program that adds layers, parameter
/// groups or registered objects while it trains does not have them when the loop begins. Then its
/// iterations are executed until they fit.
std::optional<std::int64_t> SegmentWalk::restore_start() {
  const store::MainLoop& loop = *loop_;
  const std::set<std::int64_t>& stored = boundaries();
  const auto start = start_boundary(stored, target_.first, strong_);
  if (!start) return start;
  try {
    host_.restore_boundary(loop, *start);
    return start;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    const auto first = start_boundary(stored, target_.first, /*strong=*/true);
    if (first == start) throw;
    host_.restore_boundary(loop, *first);  // throws if the program itself has changed
    strong_ = true;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has when {} begins "
                    "({}): replay walks there from the start",
                    loop.first_epoch + *start, loop.name, error.what()));
    return first;
  }
}

/// Continues after a target: with the next target in this loop, or after the loop.
LoopScope::Move SegmentWalk::go_on(Frame& frame) {
  if (!std::exchange(ahead_, false)) {
    piece_.first = std::max(piece_.first, frame.first_epoch + target_.end);
    if (piece_.empty()) take_piece(frame, frame.index);
  }
  answer_from_store(frame);
  if (const Epochs target = next_target(frame); !target.empty()) {
    aim_at(frame, target);
    return jump(frame);
  }
  if (frame.index < loop_->iterations && builds_on() &&
      (strong_ || !restore_ahead(loop_->iterations, frame.index))) {
    aim_at(frame, {loop_->iterations, loop_->iterations});
    return {};
  }
  return {.go_on = !frame.limit_broke};
}

/// Whether code after the loop needs the state that the loop leaves. In a strong walk all remaining
/// work needs it, however far ahead it is.
bool SegmentWalk::builds_on() const {
  if (!piece_.empty()) return true;
  return strong_ ? assignment_.keeps_from(section_) : assignment_.keeps(section_);
}

LoopScope::Move SegmentWalk::jump(Frame& frame) {
  const auto stored = start_boundary(boundaries(), target_.first, strong_);
  const std::int64_t here = frame.index;
  skipped_ = true;
  if (target_.first >= here) {
    const std::int64_t ahead = strong_ ? here : std::max(stored.value_or(0), here);
    frame.index = ahead == here || restore_ahead(ahead, here) ? ahead : here;
  } else if (stored && random_access_ && !strong_) {
    frame.index = *stored;
  } else {
    throw Error(fmt::format("epoch {} lies behind epoch {}, to where this loop cannot go back",
                            frame.first_epoch + target_.first, frame.first_epoch + here));
  }
  return {.go_on = true, .steps = frame.index - here + 1};
}

/// Tries to restore the state ahead. Returns false, after restoring the state of `here`, if the
/// program does not have the objects for it yet, so that the iterations before it must be executed.
bool SegmentWalk::restore_ahead(std::int64_t ahead, std::int64_t here) {
  const store::MainLoop& loop = *loop_;
  try {
    // Advancing an iterator that is more than a position may change the state, so it is restored
    // again later.
    if (host_.restore_boundary(loop, ahead) && random_access_) restored_ = ahead;
    return true;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    if (!host_.restore_boundary(loop, here)) throw;
    strong_ = true;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has after epoch {} "
                    "({}): replay walks there",
                    loop.first_epoch + ahead, loop.first_epoch + here - 1, error.what()));
    return false;
  }
}

void SegmentWalk::restore_end(const Frame& frame) {
  const store::MainLoop& loop = *loop_;
  const std::int64_t reached = frame.visited ? frame.index : loop.iterations;
  if (reached >= loop.iterations || std::exchange(restored_, {}) == loop.iterations) return;
  std::string why = "is not stored";
  try {
    if (host_.restore_boundary(loop, loop.iterations)) return;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {  // such as objects that are registered in a later epoch
    why = fmt::format("does not fit: {}", error.what());
  }
  say(Level::warn, fmt::format("what follows loop {} runs on the state after epoch {}, since the "
                               "state at its end {}",
                               loop.name, loop.first_epoch + reached - 1, why));
}

}  // namespace flor::detail
