#include "replayer.h"

#include "notice.h"
#include "process.h"
#include "run_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flor::detail {
Replayer::Replayer(Flags flags) : Runtime(std::move(flags), nullptr) {
  store_ = store::Store::open(store::home_directory(flags_.home), store::OpenMode::existing);
  store::Catalog& catalog = store_->catalog();
  run_ = run_to_replay(catalog, flags_);
  record_ = std::make_unique<Record>(catalog, run_);
  segment_ = segment_of(record_->epochs(), flags_.segment, flags_.segments);
  check_probes();
  announce();
  if (empty()) return;
  work_.segment = segment_;
  probes_ = std::make_unique<Probes>(flags_, run_, record_->nested_loops(),
                                     store::home_directory(flags_.home));
  probes_->announce();

  for (const store::Argument& argument : catalog.arguments(run_.id)) {
    arguments_[argument.name] = argument;
  }
  if (adapter().set_threads) {
    const auto recorded = run_.start.environment.find("threads");
    if (flags_.threads) {
      adapter().set_threads(*flags_.threads);
    } else if (recorded != run_.start.environment.end()) {
      adapter().set_threads(std::stoi(recorded->second));
    }
  }
  replay_ = catalog.add_replay({.run = run_.id,
                                .started_us = now_us(),
                                .segment = flags_.segment,
                                .segments = flags_.segments,
                                .first_epoch = segment_.first,
                                .last_epoch = segment_.end - 1,
                                .strong = flags_.strong,
                                .probes = fmt::format("{}", fmt::join(probes_->loops(), ",")),
                                .program_digest = file_digest(executable()),
                                .command = flags_.command});
  state_ =
      std::make_unique<RecordedState>(*store_, *record_, registry_, comparison_, !flags_.threads);
  value_check_ = std::make_unique<ValueCheck>(*store_, run_.id, comparison_);
  writer_ = std::make_unique<store::CheckpointWriter>(*store_, run_.id);
  suppress(segment_.first > 0);
  start_journal();
}

Replayer::~Replayer() { background_.reset(); }

void Replayer::announce() const {
  const std::string epochs =
      fmt::format("{} of {}", print_epochs(segment_),
                  record_->epochs() == 1 ? "1 recorded epoch"
                                         : fmt::format("{} recorded epochs", record_->epochs()));
  const std::string segment =
      flags_.segments == 1
          ? std::string()
          : fmt::format(" (segment {} of {}, counted from 0)", flags_.segment, flags_.segments);
  say(Level::result,
      fmt::format("replaying run {} of {}: {}{}{}{}", run_.key.substr(0, 8), run_.start.experiment,
                  epochs, segment, flags_.strong ? ", walking there from the start" : "",
                  flags_.probes.empty()
                      ? ""
                      : fmt::format(", stepping into {}", fmt::join(flags_.probes, ", "))));
  if (empty()) {
    say(Level::result, fmt::format("nothing to do: {} segments share {} epochs, and this one is "
                                   "empty",
                                   flags_.segments, record_->epochs()));
  } else if (run_.state == store::RunState::interrupted) {
    say(Level::result, "the run was interrupted: its complete epochs are replayed");
  }
}

void Replayer::check_probes() const {
  const std::set<std::string> loops = record_->nested_loops();
  for (const std::string& probe : flags_.probes) {
    if (loops.contains(probe)) continue;
    throw UsageError(
        fmt::format("--flor_probe {}: the run has no such nested loop; it has {}", probe,
                    loops.empty() ? "none" : fmt::format("{}", fmt::join(loops, ", "))));
  }
}

// ---------------------------------------------------------------------------------------------
// The main loop.

LoopScope::Start Replayer::begin_main(Frame& frame, bool random_access) {
  loop_ = record_->main_loop(frame.component);
  if (!loop_) {
    frame.ordinal = -1;
    const std::int64_t passed = main_loops_passed_;
    if (passed < static_cast<std::int64_t>(record_->main_loops().size())) {
      throw Error(fmt::format(
          "the record has no main loop '{}'; its next one is '{}': give the loop its recorded "
          "name, "
          "or write a loop that is new here without flor::loop",
          frame.component, record_->main_loops()[static_cast<std::size_t>(passed)].name));
    }
    if (run_.state == store::RunState::finished) {
      // Added since the record: it has no epochs of its own to share out.
      return {};
    }
    say(Level::warn, fmt::format("the record ends before loop {}: neither it nor what the program "
                                 "logs after it is replayed",
                                 frame.component));
    suppress(true);
    return {.visit = false};
  }
  main_loops_passed_ = std::max(main_loops_passed_, loop_->ordinal + 1);
  frame.ordinal = loop_->ordinal;
  frame.first_epoch = loop_->first_epoch;
  target_ = part_of_loop(segment_, loop_->first_epoch, loop_->iterations);
  return target_.empty() ? pass_by(frame, *loop_) : visit(frame, *loop_, random_access);
}

LoopScope::Start Replayer::pass_by(Frame& frame, const store::MainLoop& loop) {
  const bool before_segment = loop.first_epoch < segment_.first;
  const store::CheckpointKey end{
      .main_loop = loop.ordinal, .iteration = loop.iterations, .loop = {}};
  if (state_->restore(end, {}) || !before_segment) return {.visit = false};
  // The state that the segment builds on is not stored: catch up through the whole rest of the
  // loop.
  target_ = {loop.iterations, loop.iterations};
  return visit(frame, loop, false);
}

LoopScope::Start Replayer::visit(Frame& frame, const store::MainLoop& loop, bool random_access) {
  const auto start =
      start_boundary(record_->boundaries(loop.ordinal), target_.first, flags_.strong);
  frame.index = start.value_or(0);
  frame.limit = target_.end;
  // Only what was left by break ended before the range was advanced once more.
  frame.limit_broke = target_.end < loop.iterations || loop.broke || !loop.ended;
  const auto restore_at = [&](std::int64_t iteration) {
    return state_->restore({.main_loop = loop.ordinal, .iteration = iteration, .loop = {}}, {});
  };
  // An iterator that is more than a position is begun in the state in which it was recorded to
  // begin (a sampler draws its permutation then), whatever the state that is restored afterwards.
  if (start && (*start == 0 || !random_access)) restore_at(0);
  if (!start && loop.first_epoch + target_.first > 0) {
    comparison_.difference(fmt::format(
        "no boundary before epoch {} is stored: replay started from the program's own state",
        loop.first_epoch + target_.first));
  }
  if (frame.index >= frame.limit) {
    restore_at(frame.index);
    return {.visit = false};
  }
  return {.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

void Replayer::arrive(Frame& frame, bool) {
  state_->restore({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}}, {});
}

bool Replayer::enter_main(Frame& frame) {
  if (frame.ordinal < 0) return true;
  catching_up_ = frame.index < target_.first;
  met_.clear();
  computed_ = true;
  suppress(catching_up_);
  return true;
}

bool Replayer::leave_main(Frame& frame) {
  const std::int64_t epoch = frame.first_epoch + frame.index;
  ++frame.index;
  if (frame.ordinal < 0) return true;
  if (!catching_up_) ++visited_;
  compare_path(frame);
  state_->compare_with({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}},
                       fmt::format("end of epoch {}", epoch), {}, computed_);
  return frame.index < frame.limit || !frame.limit_broke;
}

/// The iteration came to the loops that the recorded one came to, and to no others.
void Replayer::compare_path(const Frame& main) {
  const std::int64_t iteration = main.index - 1;
  const std::set<std::string> recorded = record_->executed_in(main.ordinal, iteration);
  const std::int64_t epoch = main.first_epoch + iteration;
  for (const std::string& loop : recorded) {
    if (!met_.contains(loop)) {
      comparison_.difference(
          fmt::format("epoch {}: the record executed {}, the replay did not come "
                      "to it",
                      epoch, loop));
    }
  }
  const std::set<std::string> known = record_->nested_loops();
  for (const std::string& loop : met_) {
    if (!recorded.contains(loop) && known.contains(loop.substr(0, loop.find('~')))) {
      comparison_.difference(
          fmt::format("epoch {}: the replay came to {}, which the record did not "
                      "execute there",
                      epoch, loop));
    }
  }
}

void Replayer::end_main(Frame& frame, LoopEnd how) {
  if (frame.ordinal < 0 || how == LoopEnd::failed) return;
  if (how == LoopEnd::broke) leave_main(frame);
  catching_up_ = false;
  leave_loop_early(*loop_, frame.visited ? frame.index : loop_->iterations);
  suppress_after(*loop_);
  loop_ = nullptr;
}

/// What follows the loop shall see the state in which the record left it.
void Replayer::leave_loop_early(const store::MainLoop& loop, std::int64_t reached) {
  if (reached >= loop.iterations) return;
  std::string why = "is not stored";
  try {
    const store::CheckpointKey end{
        .main_loop = loop.ordinal, .iteration = loop.iterations, .loop = {}};
    if (state_->restore(end, {})) return;
  } catch (const Damaged&) {
    throw;
  } catch (const Error& error) {  // e.g. objects that are registered in a later epoch
    why = fmt::format("does not fit: {}", error.what());
  }
  say(Level::warn, fmt::format("what follows loop {} runs on the state after epoch {}, since the "
                               "state at its end {}",
                               loop.name, loop.first_epoch + reached - 1, why));
}

void Replayer::suppress_after(const store::MainLoop& loop) {
  const std::int64_t last = loop.first_epoch + loop.iterations - 1;
  const bool ours = last < 0 ? segment_.first == 0 : last >= segment_.first && last < segment_.end;
  if (ours && !loop.ended && !interrupted_told_) {
    interrupted_told_ = true;
    say(Level::warn,
        "the record ends inside this loop: what the program logs after it is not kept");
  }
  suppress(!ours || !loop.ended);
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

LoopScope::Start Replayer::begin_nested(Frame& frame) {
  const Frame& main = main_frame();
  if (main.ordinal < 0) return {};
  const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main.ordinal,
                                 .iteration = main.index,
                                 .loop = frame.component};
  met_.insert(frame.component);
  const auto checkpoint = record_->checkpoint(key);
  const bool probed = !catching_up_ && probes_->steps_into(frame);
  const bool skip = checkpoint && !probed &&
                    state_->has_attached(*checkpoint, frame.settings.attached) &&
                    !record_->main_loop_may_have_been_left_from(key);
  if (!catching_up_)
    ++(skip ? work_.nested[frame.name].skipped : work_.nested[frame.name].executed);
  state_->restore_entry(key, frame.settings.attached);
  if (skip) {
    computed_ = false;
    state_->restore(key, frame.settings.attached);
    return {.visit = false};
  }
  if (const store::LoopExecution* execution = record_->execution(key)) {
    computed_ = true;
    frame.limit = execution->iterations;
    frame.limit_broke = execution->broke;
  }
  return {};
}

void Replayer::end_nested(Frame& frame, LoopEnd how) {
  const Frame& main = main_frame();
  // A loop that an exception leaves is not in the record either.
  if (how == LoopEnd::failed) met_.erase(frame.component);
  if (main.ordinal < 0 || how == LoopEnd::failed) return;
  const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main.ordinal,
                                 .iteration = main.index,
                                 .loop = frame.component};
  const store::LoopExecution* execution = record_->execution(key);
  if (!execution) return;
  const std::string where =
      fmt::format("end of {}, epoch {}", frame.component, main.first_epoch + main.index);
  const std::int64_t begun = frame.index + (how == LoopEnd::broke ? 1 : 0);
  if (begun != execution->iterations) {
    comparison_.difference(fmt::format("{}: {} iterations were recorded, {} were replayed", where,
                                       execution->iterations, begun));
  } else if (frame.cut) {
    comparison_.difference(
        fmt::format("{}: the range has more than the {} iterations that were recorded", where,
                    execution->iterations));
  }
  state_->compare_with(key, where, frame.settings.attached, computed_);
}

// ---------------------------------------------------------------------------------------------
// Arguments and values.

std::optional<std::string> Replayer::argument_text(std::string_view name) {
  const auto found = arguments_.find(std::string(name));
  if (found != arguments_.end()) return found->second.value;
  say(Level::warn,
      fmt::format("argument '{}' was not recorded: the program's own value is used", name));
  return std::nullopt;
}

void Replayer::note_argument(const store::Argument&) {}

void Replayer::keep(LogBatch batch) {
  try {
    std::vector<store::Value> found =
        value_check_->new_among(to_values(batch, ordinals_, [this](const LoggedContent& logged) {
          return writer_->write_object(logged.item, logged.content);
        }));
    for (store::Value& value : found) value.replay = replay_;
    store_->catalog().add_values(run_.id, found);
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

// ---------------------------------------------------------------------------------------------
// The end.

ExitStatus Replayer::finish(bool failed, std::string_view message) noexcept {
  try {
    background_->post([this] { flush_journal(); });
    background_->drain();
    if (!failed && visited_ < segment_.count()) {
      comparison_.difference(
          fmt::format("only {} of {} epochs were visited: the program left its loop earlier than "
                      "the record, or "
                      "never reached it",
                      visited_, segment_.count()));
    }
    store::ReplayResult result = comparison_.result();
    result.finished_us = now_us();
    if (failed) {
      result.verdict = store::Verdict::failed;
      result.first_difference = message;
    } else if (!failure_.empty()) {
      result.verdict = store::Verdict::failed;
      result.first_difference = failure_;
      say(Level::error, fmt::format("the replay's values could not be kept: {}", failure_));
    }
    store_->catalog().finish_replay(replay_, result);
    if (state_->restored_bytes() > 0) {
      store_->catalog().add_restore_time(replay_, state_->restored_bytes(),
                                         state_->restore_seconds());
    }
    if (failed) return ExitStatus::done;  // the program says so itself
    work_.seconds = seconds_since(began_);
    work_.restored = state_->restored();
    work_.restored_bytes = state_->restored_bytes();
    conclude(work_, comparison_, run_, flags_);
    if (!failure_.empty()) return ExitStatus::failed;
    return result.verdict == store::Verdict::differs ? ExitStatus::differs : ExitStatus::done;
  } catch (const std::exception& error) {
    say(Level::error, fmt::format("the replay's result could not be kept: {}", error.what()));
    return ExitStatus::failed;
  }
}

std::unique_ptr<Runtime> make_replayer(Flags flags) {
  auto replayer = std::make_unique<Replayer>(std::move(flags));
  if (replayer->empty()) return nullptr;
  return replayer;
}

}  // namespace flor::detail
