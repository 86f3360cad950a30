#include "resumption.h"

#include "notice.h"

#include <flor/store/resume_point.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace flor::detail {
namespace {

[[noreturn]] void throw_too_short(const Frame& frame, std::int64_t step) {
  throw Error(
      fmt::format("loop {} has fewer than the {} iterations that were complete when the run was "
                  "interrupted: give it the data that it had then",
                  frame.component, step));
}

}  // namespace

Resumption::Resumption(const store::Store& store, const store::Run& run, store::ResumePoint point,
                       Rehearsal rehearsal, const Registry& registry)
    : store_(store),
      point_(std::move(point)),
      rehearsal_(std::move(rehearsal)),
      record_(store.catalog(), run),
      state_(store, record_, registry, unused_, true) {}

bool Resumption::restore_boundary(std::int64_t iteration) {
  return state_.restore({.main_loop = point_.main_loop, .iteration = iteration, .loop = {}}, {});
}

/// Where the state does not fit what the program has when the loop begins, since it adds layers or
/// parameter groups while it trains, the complete iterations are all visited once more.
void Resumption::restore_first(const store::MainLoop& loop) {
  try {
    restore_boundary(rehearsal_.first);
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {
    if (rehearsal_.first == 0 || !restore_boundary(0)) throw;
    rehearsal_.first = 0;
    say(Level::warn,
        fmt::format("the state before epoch {} does not fit what the program has when {} begins "
                    "({}): the epochs before it are visited, with their nested loops loaded",
                    point_.epoch, loop.name, error.what()));
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
  frame.index = rehearsal_.first;
  // An iterator that is more than a position is begun in the state in which it was recorded to
  // begin, as in a replay.
  if (frame.index == 0 || !random_access) {
    if (!restore_boundary(0)) restore_boundary(point_.iteration);
  }
  return LoopScope::Start{.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

void Resumption::arrive(const Frame& frame, bool gone) {
  if (gone) throw_too_short(frame, frame.index);
  if (frame.depth > 0) {
    state_.restore(step_key(), frame.settings.attached);
  } else if (!restore_boundary(frame.index)) {
    restore_boundary(point_.iteration);
  }
}

void Resumption::leave_rehearsed(Frame& main) {
  ++main.index;
  if (main.index == point_.iteration) restore_boundary(main.index);
}

std::optional<LoopScope::Start> Resumption::begin_nested(const Frame& main, Frame& frame) {
  const store::CheckpointKey end{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main.ordinal,
                                 .iteration = main.index,
                                 .loop = frame.component};
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
