#include "resume/resumption.h"

#include "base/notice.h"
#include "index/catalog/resume_point.h"
#include "session/preemption.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flor::detail {
namespace {

[[noreturn]] void throw_too_short(const Frame& frame, std::int64_t step) {
  throw Error(
      fmt::format("loop {} has fewer than the {} iterations that were complete when the run was "
                  "interrupted: give it the data that it had then",
                  frame.component, step));
}

store::CheckpointKey end_of(const Frame& main, const Frame& nested) {
  return {.kind = store::CheckpointKind::loop_end,
          .main_loop = main.ordinal,
          .iteration = main.index,
          .loop = nested.component};
}

}  // namespace

Resumption::Resumption(const store::Store& store, const store::Run& run, store::ResumePoint point,
                       Rehearsal rehearsal, CheckPlan check, bool exact, const Registry& registry)
    : store_(store),
      point_(std::move(point)),
      rehearsal_(std::move(rehearsal)),
      plan_(std::move(check)),
      record_(store.catalog(), run),
      check_(plan_.iteration < 0
                 ? nullptr
                 : std::make_unique<ResumeCheck>(
                       store, run.id, point_.epoch - point_.iteration + plan_.iteration,
                       record_.main_loops().at(static_cast<std::size_t>(point_.main_loop)).name,
                       plan_.stretch, exact)),
      state_(store, record_, registry, check_ ? check_->comparison() : unused_, true) {}

bool Resumption::restore_boundary(std::int64_t iteration) {
  return state_.restore({.main_loop = point_.main_loop, .iteration = iteration, .loop = {}}, {});
}

/// Restores the first state. If it does not fit the objects at the beginning of the loop, since the
/// program adds layers or parameter groups while it trains, all complete iterations are visited
/// again.
void Resumption::restore_first(const store::MainLoop& loop) {
  try {
    restore_boundary(first());
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    if (first() == 0 || !restore_boundary(0)) throw;
    rehearsal_.first = 0;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has when {} begins "
                    "({}): the epochs before it are visited, with their nested loops loaded",
                    point_.epoch, loop.name, error.what()));
  }
}

/// Whether the program has all objects of the state before an iteration by now.
bool Resumption::fits(std::int64_t iteration) {
  try {
    restore_boundary(iteration);
    return true;
  } catch (const Damaged&) {
    throw;
  } catch (const Error&) {
    return false;
  }
}

std::optional<LoopScope::Start> Resumption::begin_main(Frame& frame, bool random_access) {
  if (frame.ordinal > point_.main_loop) return std::nullopt;
  if (frame.ordinal == point_.main_loop && !point_.boundary) return std::nullopt;
  const store::MainLoop& loop = record_.main_loops().at(static_cast<std::size_t>(frame.ordinal));
  if (loop.name != frame.component) {
    throw Error(
        fmt::format("the run's main loop {} was '{}', but is '{}' in this program: resume with the "
                    "program that was interrupted, or begin a new run",
                    frame.ordinal, loop.name, frame.component));
  }
  if (frame.ordinal < point_.main_loop) {
    frame.index = loop.iterations;
    state_.restore({.main_loop = loop.ordinal, .iteration = loop.iterations, .loop = {}}, {});
    return LoopScope::Start{.visit = false};
  }
  restore_first(loop);
  frame.index = first();
  // Beginning an iterator that is more than a position may depend on the state, so the recorded
  // state at the beginning is restored first, as in a replay.
  if (frame.index == 0 || !random_access) {
    if (!restore_boundary(0)) restore_boundary(point_.iteration);
  }
  return LoopScope::Start{.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

void Resumption::arrive(const Frame& frame, bool gone) {
  // A container is stepped to its end at once, other ranges only after this call.
  const bool at_end = frame.count && frame.index == static_cast<std::int64_t>(*frame.count);
  if (gone && !at_end) throw_too_short(frame, frame.index);
  if (frame.depth > 0) {
    state_.restore(step_key(frame.component, frame.index), frame.settings.attached);
  } else if (!restore_boundary(frame.index)) {
    restore_boundary(point_.iteration);
  }
}

/// Steps over the iterations between the one that is checked and those that are rehearsed.
LoopScope::Move Resumption::leave_rehearsed(Frame& main) {
  if (checks_all_of(main) && !check_->is_cut()) {
    state_.compare_with(check_->epoch(),
                        {.main_loop = main.ordinal, .iteration = main.index + 1, .loop = {}},
                        fmt::format("end of epoch {}", check_->epoch()), {}, true);
  }
  if (checks(main) && checks_stretch()) {
    check_->comparison().difference(
        check_->epoch(), fmt::format("epoch {}: {} was recorded, and the program does not come to "
                                     "it now",
                                     check_->epoch(), plan_.stretch->loop));
  }
  if (main.index + 1 < rehearsal_.first && !fits(rehearsal_.first)) {
    rehearsal_.first = main.index + 1;
  }
  const std::int64_t next = std::max(main.index + 1, rehearsal_.first);
  const std::int64_t steps = next - std::exchange(main.index, next);
  if (steps == 1 && main.index == point_.iteration) restore_boundary(main.index);
  return {.steps = steps};
}

/// Limits the loop to the recorded number of iterations, since the state that decides about its end
/// may be missing.
void Resumption::limit_as_recorded(const store::CheckpointKey& end, Frame& frame) const {
  if (const store::LoopExecution* execution = record_.execution(end)) {
    frame.limit = execution->iterations;
    frame.limit_broke = execution->broke;
  }
}

/// Loads the end of the loop, if it is stored, instead of executing it.
LoopScope::Start Resumption::load(const store::CheckpointKey& end, const Frame& frame) {
  const auto checkpoint = record_.checkpoint(end);
  if (checkpoint && state_.has_attached(*checkpoint, frame.settings.attached)) {
    state_.restore(end, frame.settings.attached);
  }
  return {.visit = false};
}

LoopScope::Start Resumption::begin_at(std::int64_t step, Frame& frame) {
  frame.index = step;
  frame.arriving = true;
  return {.visit = true, .skip = static_cast<std::uint64_t>(step)};
}

LoopScope::Start Resumption::begin_checked(const store::CheckpointKey& end, Frame& frame) {
  if (plan_.stretch) {
    if (!checks_stretch() || frame.component != plan_.stretch->loop) return load(end, frame);
    limit_as_recorded(end, frame);
    return begin_at(plan_.stretch->from, frame);
  }
  if (check_->is_cut()) {
    const auto checkpoint = record_.checkpoint(end);
    if (checkpoint && state_.has_attached(*checkpoint, frame.settings.attached)) {
      return load(end, frame);
    }
  }
  state_.restore_entry(check_->epoch(), end, frame.settings.attached);
  limit_as_recorded(end, frame);
  return {};
}

bool Resumption::leave_checked(const Frame& main, Frame& nested) {
  const bool to_point = plan_.stretch && plan_.stretch->to;
  if (to_point && nested.index == point_.step) {
    state_.compare_with(check_->epoch(), point_key(), store::print_point(point_),
                        nested.settings.attached, true);
    stretch_over_ = true;
    return true;
  }
  const bool over = check_->seconds() > plan_.budget || pending_signal != 0;
  if (!over || check_->is_cut() || plan_.fits()) return false;
  const auto checkpoint = record_.checkpoint(end_of(main, nested));
  const bool can_be_left =
      plan_.stretch || (checkpoint && state_.has_attached(*checkpoint, nested.settings.attached));
  if (!can_be_left) return false;
  check_->cut(
      fmt::format("step {}{}", nested.index - 1, plan_.stretch ? "" : " of " + nested.component));
  stretch_over_ = plan_.stretch.has_value();
  if (to_point) return true;
  nested.limit = nested.index;
  nested.limit_broke = true;
  return false;
}

void Resumption::compare_length(const store::CheckpointKey& end, const Frame& nested,
                                std::int64_t begun) {
  const store::LoopExecution* execution = record_.execution(end);
  if (execution && !nested.cut && begun == execution->iterations) return;
  check_->comparison().difference(
      check_->epoch(),
      fmt::format("end of {}, epoch {}: {} iterations were recorded, now it has {}{}",
                  nested.component, check_->epoch(), execution ? execution->iterations : 0, begun,
                  nested.cut ? " and more" : ""));
}

bool Resumption::end_checked(const Frame& main, const Frame& nested, LoopEnd how) {
  const store::CheckpointKey end = end_of(main, nested);
  const std::int64_t begun = nested.index + (how == LoopEnd::broke ? 1 : 0);
  stretch_over_ = plan_.stretch.has_value();
  if (check_->is_cut()) {
    if (record_.checkpoint(end)) state_.restore(end, nested.settings.attached);
    return stretch_over_;
  }
  if (plan_.stretch && plan_.stretch->to) {
    check_->comparison().difference(
        check_->epoch(),
        fmt::format("{}: {} had {} complete iterations, now it ends after {}",
                    store::print_point(point_), nested.component, point_.step, begun));
    return true;
  }
  compare_length(end, nested, begun);
  state_.compare_with(check_->epoch(), end,
                      fmt::format("end of {}, epoch {}", nested.component, check_->epoch()),
                      nested.settings.attached, true);
  return stretch_over_;
}

std::optional<LoopScope::Start> Resumption::begin_nested(const Frame& main, Frame& frame) {
  const store::CheckpointKey end = end_of(main, frame);
  const bool rehearsed = rehearses(main);
  if (rehearsed && checks(main)) return begin_checked(end, frame);
  if (!rehearsed && frame.component == point_.loop) {
    return begin_at(checks_stretch() ? plan_.stretch->from : point_.step, frame);
  }
  if (rehearsed) return load(end, frame);
  const bool kept = std::ranges::find(point_.kept, frame.component) != point_.kept.end();
  const auto checkpoint = kept ? record_.checkpoint(end) : std::nullopt;
  if (!checkpoint || !state_.has_attached(*checkpoint, frame.settings.attached)) {
    return std::nullopt;
  }
  return load(end, frame);
}

/// The key of a step: in the iteration of the point, or of the stretch while one has to be
/// executed.
store::CheckpointKey Resumption::step_key(const std::string& loop, std::int64_t step) const {
  return {.kind = store::CheckpointKind::step,
          .main_loop = point_.main_loop,
          .iteration = checks_stretch() ? plan_.iteration : point_.iteration,
          .loop = store::step_name(loop, step)};
}

Elapsed Resumption::elapsed() const {
  const auto checkpoint = record_.checkpoint(point_key());
  return checkpoint ? elapsed_at(store_, *checkpoint) : Elapsed{};
}

}  // namespace flor::detail
