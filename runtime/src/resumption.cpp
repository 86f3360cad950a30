#include "resumption.h"

#include "notice.h"
#include "preemption.h"

#include <flor/store/resume_point.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
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
                       exact)),
      state_(store, record_, registry, check_ ? check_->comparison() : unused_, true) {}

bool Resumption::restore_boundary(std::int64_t iteration) {
  return state_.restore({.main_loop = point_.main_loop, .iteration = iteration, .loop = {}}, {});
}

/// Where the state does not fit what the program has when the loop begins, since it adds layers or
/// parameter groups while it trains, the complete iterations are all visited once more.
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

/// Whether the program has by now what the state before an iteration is made of.
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
  // An iterator that is more than a position is begun in the state in which it was recorded to
  // begin, as in a replay.
  if (frame.index == 0 || !random_access) {
    if (!restore_boundary(0)) restore_boundary(point_.iteration);
  }
  return LoopScope::Start{.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

void Resumption::arrive(const Frame& frame, bool gone) {
  // The end of a container is stepped to at once, that of another range only after this.
  const bool at_end = frame.count && frame.index == static_cast<std::int64_t>(*frame.count);
  if (gone && !at_end) throw_too_short(frame, frame.index);
  if (frame.depth > 0) {
    state_.restore(step_key(), frame.settings.attached);
  } else if (!restore_boundary(frame.index)) {
    restore_boundary(point_.iteration);
  }
}

/// The iterations between the one that is checked and those that are rehearsed are stepped over.
LoopScope::Move Resumption::leave_rehearsed(Frame& main) {
  if (checks(main) && !check_->is_cut()) {
    state_.compare_with(check_->epoch(),
                        {.main_loop = main.ordinal, .iteration = main.index + 1, .loop = {}},
                        fmt::format("end of epoch {}", check_->epoch()), {}, true);
  }
  if (main.index + 1 < rehearsal_.first && !fits(rehearsal_.first)) {
    rehearsal_.first = main.index + 1;
  }
  const std::int64_t next = std::max(main.index + 1, rehearsal_.first);
  const std::int64_t steps = next - std::exchange(main.index, next);
  if (steps == 1 && main.index == point_.iteration) restore_boundary(main.index);
  return {.steps = steps};
}

/// As often as it was recorded: what decides on its end may be what is missing.
LoopScope::Start Resumption::begin_checked(const store::CheckpointKey& end, Frame& frame) {
  if (check_->is_cut()) {
    const auto checkpoint = record_.checkpoint(end);
    if (checkpoint && state_.has_attached(*checkpoint, frame.settings.attached)) {
      state_.restore(end, frame.settings.attached);
      return {.visit = false};
    }
  }
  state_.restore_entry(end, frame.settings.attached);
  if (const store::LoopExecution* execution = record_.execution(end)) {
    frame.limit = execution->iterations;
    frame.limit_broke = execution->broke;
  }
  return {};
}

void Resumption::leave_checked(const Frame& main, Frame& nested) {
  const bool over = check_->seconds() > plan_.budget || pending_signal != 0;
  if (!over || check_->is_cut() || plan_.recorded <= plan_.budget) return;
  const auto checkpoint = record_.checkpoint(end_of(main, nested));
  if (!checkpoint || !state_.has_attached(*checkpoint, nested.settings.attached)) return;
  check_->cut(fmt::format("step {} of {}", nested.index - 1, nested.component));
  nested.limit = nested.index;
  nested.limit_broke = true;
}

void Resumption::end_checked(const Frame& main, const Frame& nested, LoopEnd how) {
  const store::CheckpointKey end = end_of(main, nested);
  if (check_->is_cut()) {
    if (record_.checkpoint(end)) state_.restore(end, nested.settings.attached);
    return;
  }
  const std::string where = fmt::format("end of {}, epoch {}", nested.component, check_->epoch());
  const store::LoopExecution* execution = record_.execution(end);
  const std::int64_t begun = nested.index + (how == LoopEnd::broke ? 1 : 0);
  if (!execution || nested.cut || begun != execution->iterations) {
    check_->comparison().difference(
        check_->epoch(),
        fmt::format("{}: {} iterations were recorded, now it has {}{}", where,
                    execution ? execution->iterations : 0, begun, nested.cut ? " and more" : ""));
  }
  state_.compare_with(check_->epoch(), end, where, nested.settings.attached, true);
}

std::optional<LoopScope::Start> Resumption::begin_nested(const Frame& main, Frame& frame) {
  const store::CheckpointKey end = end_of(main, frame);
  if (checks(main)) return begin_checked(end, frame);
  const bool rehearsed = rehearses(main);
  if (!rehearsed && frame.component == point_.loop) {
    frame.index = point_.step;
    return LoopScope::Start{.visit = true, .skip = static_cast<std::uint64_t>(point_.step)};
  }
  const bool kept = std::ranges::find(point_.kept, frame.component) != point_.kept.end();
  if (!rehearsed && !kept) return std::nullopt;
  const auto checkpoint = record_.checkpoint(end);
  if (!checkpoint || !state_.has_attached(*checkpoint, frame.settings.attached)) {
    if (rehearsed) return LoopScope::Start{.visit = false};
    return std::nullopt;
  }
  state_.restore(end, frame.settings.attached);
  return LoopScope::Start{.visit = false};
}

store::CheckpointKey Resumption::step_key() const {
  return {.kind = store::CheckpointKind::step,
          .main_loop = point_.main_loop,
          .iteration = point_.iteration,
          .loop = store::step_name(point_.loop, point_.step)};
}

Resumption::Elapsed Resumption::elapsed() const {
  Elapsed elapsed;
  const auto checkpoint = record_.checkpoint(step_key());
  if (!checkpoint) return elapsed;
  const store::CheckpointReader reader(store_, *checkpoint);
  const auto item = reader.find(kElapsedItem);
  if (!item) return elapsed;
  const std::vector<std::byte> content = reader.read(*item);
  if (content.size() == sizeof elapsed) std::memcpy(&elapsed, content.data(), sizeof elapsed);
  return elapsed;
}

}  // namespace flor::detail
