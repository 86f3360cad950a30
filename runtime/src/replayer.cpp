#include "replayer.h"

#include "git/shadow.h"
#include "notice.h"
#include "process.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flor::detail {
namespace {

bool can_be_replayed(const store::Run& run) { return run.state != store::RunState::running; }

/// The run that --replay_flor means without --flor_run: the latest that has ended, of the
/// experiment that was recorded here last; of the version that is checked out, if that is a
/// recorded one.
store::Run latest_run(const store::Catalog& catalog) {
  const auto repository = git::Repository::discover(std::filesystem::current_path());
  const std::string place =
      repository ? repository->work_tree().string() : std::filesystem::current_path().string();
  const auto name = catalog.last_name(place);
  if (!name) {
    throw NotFound(fmt::format(
        "no run was recorded in {}: record one with --flor NAME, or name one with --flor_run RUN",
        place));
  }
  std::vector<store::Run> runs = catalog.runs(*name);
  std::erase_if(runs, [](const store::Run& run) { return !can_be_replayed(run); });
  if (runs.empty()) {
    throw NotFound(fmt::format(
        "no run of '{}' has ended yet: wait for it, or name another with --flor_run RUN", *name));
  }
  const std::string head = repository ? repository->head().value_or("") : "";
  const auto at_head =
      std::ranges::find_if(runs, [&](const store::Run& run) { return run.start.commit == head; });
  return !head.empty() && at_head != runs.end() ? *at_head : runs.front();
}

store::Run chosen_run(const store::Catalog& catalog, const Flags& flags) {
  if (flags.run.empty()) return latest_run(catalog);
  store::Run run = catalog.resolve(flags.run);
  if (!can_be_replayed(run)) {
    throw Busy(fmt::format("run {} is still being recorded: replay it when it has ended",
                           run.key.substr(0, 8)));
  }
  return run;
}

std::string print_epochs(Epochs epochs) {
  if (epochs.empty()) return "no epoch";
  if (epochs.count() == 1) return fmt::format("epoch {}", epochs.first);
  return fmt::format("epochs {} to {}", epochs.first, epochs.end - 1);
}

/// Identity of a value within a run and an epoch.
std::string identity(const store::Value& value) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", value.name, value.place.path, value.place.step,
                     value.place.inner, value.ordinal);
}

/// Only what the program did not register differs: random numbers that were drawn, settings.
bool only_ambient(const std::vector<StateDifference>& differences) {
  return std::ranges::all_of(differences,
                             [](const auto& difference) { return difference.name[0] == '@'; });
}

}  // namespace

Replayer::Replayer(Flags flags) : Runtime(std::move(flags), nullptr) {
  store_ = store::Store::open(store::home_directory(flags_.home), store::OpenMode::existing);
  store::Catalog& catalog = store_->catalog();
  run_ = chosen_run(catalog, flags_);
  record_ = std::make_unique<Record>(catalog, run_);
  segment_ = segment_of(record_->epochs(), flags_.segment, flags_.segments);
  check_probes();
  announce();
  if (empty()) return;

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
                                .probes = fmt::format("{}", fmt::join(flags_.probes, ",")),
                                .program_digest = file_digest(executable()),
                                .command = flags_.command});
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
  if (restore_checkpoint(end, {}) || !before_segment) return {.visit = false};
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
    return restore_checkpoint({.main_loop = loop.ordinal, .iteration = iteration, .loop = {}}, {});
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

void Replayer::arrive(Frame& frame) {
  restore_checkpoint({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}}, {});
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
  compare_state({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}},
                fmt::format("end of epoch {}", epoch), {});
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
    if (restore_checkpoint(end, {})) return;
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

void Replayer::suppress(bool suppressed) {
  journal().move([&](CurrentPlace& place) { place.suppressed = suppressed; });
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

bool Replayer::probed(const Frame& frame) const {
  if (flags_.no_probe || catching_up_) return false;
  return frame.settings.probed ||
         std::ranges::find(flags_.probes, frame.name) != flags_.probes.end();
}

bool Replayer::begin_nested(Frame& frame) {
  const Frame& main = main_frame();
  if (main.ordinal < 0) return true;
  const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main.ordinal,
                                 .iteration = main.index,
                                 .loop = frame.component};
  met_.insert(frame.component);
  const auto checkpoint = record_->checkpoint(key);
  const bool skip = checkpoint && !probed(frame) &&
                    has_attached(*checkpoint, frame.settings.attached) &&
                    !record_->main_loop_may_have_been_left_from(key);
  if (!catching_up_) ++(skip ? nested_[frame.name].skipped : nested_[frame.name].executed);
  restore_entry(key, frame.settings.attached);
  if (skip) {
    computed_ = false;
    restore_checkpoint(key, frame.settings.attached);
    return false;
  }
  if (const store::LoopExecution* execution = record_->execution(key)) {
    computed_ = true;
    frame.limit = execution->iterations;
    frame.limit_broke = execution->broke;
  }
  return true;
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
  compare_state(key, where, frame.settings.attached);
}

// ---------------------------------------------------------------------------------------------
// State.

/// A checkpoint is often asked for several times in a row.
const store::CheckpointReader& Replayer::reader(std::int64_t checkpoint) {
  if (!reader_ || open_checkpoint_ != checkpoint) {
    reader_ = std::make_unique<store::CheckpointReader>(*store_, checkpoint);
    open_checkpoint_ = checkpoint;
  }
  return *reader_;
}

bool Replayer::restore_checkpoint(const store::CheckpointKey& key,
                                  const std::vector<Slot>& attached) {
  const auto checkpoint = record_->checkpoint(key);
  if (!checkpoint) return false;
  restore(reader(*checkpoint), registry_, attached, !flags_.threads);
  ++restored_;
  restored_bytes_ += reader(*checkpoint).info().raw_bytes;
  return true;
}

void Replayer::restore_entry(const store::CheckpointKey& nested_end,
                             const std::vector<Slot>& attached) {
  if (attached.empty()) return;
  store::CheckpointKey key = nested_end;
  key.loop = entry_name(nested_end.loop);
  const auto checkpoint = record_->checkpoint(key);
  if (!checkpoint || !has_attached(*checkpoint, attached)) return;
  const store::CheckpointReader entry(*store_, *checkpoint);
  const std::vector<StateDifference> stale = compare_attached(entry, attached);
  if (stale.empty()) return;
  if (!told_stale_) {
    told_stale_ = true;
    say(Level::warn,
        fmt::format(
            "a local attached to {} outlives its iteration ({}: {}): it is put right before "
            "the loop, but code before the loop saw another value; register it with "
            "flor::checkpoints instead",
            nested_end.loop, stale.front().name, stale.front().what));
  }
  restore_attached(entry, attached);
}

bool Replayer::has_attached(std::int64_t checkpoint, const std::vector<Slot>& attached) {
  if (attached.empty()) return true;
  const std::vector<store::Item>& items = reader(checkpoint).items();
  return std::ranges::all_of(attached_names(attached), [&](const std::string& name) {
    return std::ranges::any_of(items, [&](const store::Item& item) {
      return item.name == name || item.name.starts_with(name + "/");
    });
  });
}

void Replayer::compare_state(const store::CheckpointKey& key, const std::string& where,
                             const std::vector<Slot>& attached) {
  const auto checkpoint = record_->checkpoint(key);
  if (!checkpoint) return;
  const std::vector<StateDifference> differences =
      compare(reader(*checkpoint), registry_, attached);
  const bool boundary = key.kind == store::CheckpointKind::boundary;
  if (boundary && !differences.empty() && only_ambient(differences)) {
    // A new log statement may draw random numbers of its own; the record's go on from here.
    if (computed_) comparison_.state(where, {});
    if (!told_random_) {
      told_random_ = true;
      say(Level::warn, fmt::format("by the {} the random generators are not where the record has "
                                   "them (new code draws numbers?): they are put back each time",
                                   where));
    }
  } else if (computed_ || !differences.empty()) {
    comparison_.state(where, differences);
  }
  // The next stretch starts from the recorded state in any case, so that one difference does not
  // taint all that follows.
  if (!differences.empty()) restore_checkpoint(key, attached);
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

const Replayer::Recorded& Replayer::recorded_values(std::int64_t epoch) {
  if (const auto found = recorded_.find(epoch); found != recorded_.end()) return found->second;
  // Epochs come in order, so those before this one are done with; -1 stays.
  std::erase_if(recorded_, [&](const auto& entry) { return entry.first >= 0; });
  Recorded& recorded = recorded_[epoch];
  for (store::Value& value : store_->catalog().values({.run = run_.id,
                                                       .names = {},
                                                       .first_epoch = epoch,
                                                       .last_epoch = epoch,
                                                       .recorded = true,
                                                       .hindsight = false})) {
    std::string key = identity(value);
    recorded.values.emplace(std::move(key), std::move(value));
  }
  return recorded;
}

/// Contents are compared by digest: the same content may be stored under another reference.
std::string Replayer::content_digest(const store::Value& value) const {
  const store::Object object = store::read_object(*store_, std::get<std::string>(value.value));
  return fmt::format("{} {}", print_shape(object.item), store::item_digest(object.content).hex());
}

void Replayer::keep(LogBatch batch) {
  try {
    std::vector<store::Value> found;
    auto values = to_values(batch, ordinals_, [this](const LoggedContent& logged) {
      return writer_->write_object(logged.item, logged.content);
    });
    for (store::Value& value : values) {
      const Recorded& recorded = recorded_values(value.place.epoch);
      const auto before = recorded.values.find(identity(value));
      if (before == recorded.values.end()) {
        comparison_.value_found();
        value.replay = replay_;
        found.push_back(std::move(value));
      } else if (value.type == before->second.type && (value.type == store::ValueType::tensor ||
                                                       value.type == store::ValueType::image)) {
        store::Value then = before->second;
        then.value = content_digest(then);
        value.value = content_digest(value);
        comparison_.value(then, value);
      } else {
        comparison_.value(before->second, value);
      }
    }
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
    if (failed) return ExitStatus::done;  // the program says so itself
    conclude(seconds_since(began_));
    if (!failure_.empty()) return ExitStatus::failed;
    return result.verdict == store::Verdict::differs ? ExitStatus::differs : ExitStatus::done;
  } catch (const std::exception& error) {
    say(Level::error, fmt::format("the replay's result could not be kept: {}", error.what()));
    return ExitStatus::failed;
  }
}

void Replayer::conclude(double seconds) {
  std::string nested;
  for (const auto& [name, count] : nested_) {
    if (count.skipped > 0) nested += fmt::format("; skipped {} {} times", name, count.skipped);
    if (count.executed > 0) nested += fmt::format("; executed {} {} times", name, count.executed);
  }
  say(Level::result,
      fmt::format("{} replayed in {}{}; {} checkpoints loaded ({})", print_epochs(segment_),
                  print_seconds(seconds), nested, restored_, print_bytes(restored_bytes_)));
  const store::ReplayResult result = comparison_.result();
  const std::string counts =
      fmt::format("{} values and {} states", result.values_compared, result.states_compared);
  const std::string found =
      result.values_found == 1 ? "1 new value" : fmt::format("{} new values", result.values_found);
  if (result.values_found == 0 && flags_.probes.empty() && !nested.empty()) {
    const auto skipped =
        std::ranges::find_if(nested_, [](const auto& entry) { return entry.second.skipped > 0; });
    if (skipped != nested_.end()) {
      say(Level::result, fmt::format("nothing new was logged; to see what is logged inside {}, add "
                                     "--flor_probe {}",
                                     skipped->first, skipped->first));
    }
  }
  switch (result.verdict) {
    case store::Verdict::exact:
      say(Level::result, fmt::format("exact: {} equal the record; {}", counts, found));
      break;
    case store::Verdict::differs:
      for (const std::string& line : comparison_.lines()) {
        say(Level::error, fmt::format("differs: {}", line));
      }
      say(Level::error,
          fmt::format("DIFFERS FROM THE RECORD: {} of {} values and {} of {} states; {}; {}",
                      result.values_different, result.values_compared, result.states_different,
                      result.states_compared, found, likely_cause()));
      break;
    default:
      say(Level::result, fmt::format("unchecked: nothing that was recorded was computed again, so "
                                     "nothing could be compared; {}",
                                     found));
  }
}

std::string Replayer::likely_cause() const {
  const auto now = environment();
  const auto& then = run_.start.environment;
  for (const char* key : {"libtorch", "blas", "cuda_devices", "flor"}) {
    const auto a = then.find(key), b = now.find(key);
    if (a != then.end() && b != now.end() && a->second != b->second) {
      return fmt::format("likely cause: {} was {} then and is {} now", key, a->second, b->second);
    }
  }
  if (flags_.threads)
    return "likely cause: --flor_threads, results depend on the number of threads";
  const std::string unregistered =
      "state that a loop changes and that is not registered with flor::checkpoints or flor::with, "
      "or computing that is not deterministic";
  if (file_digest(executable()) != run_.start.program_digest) {
    return fmt::format("likely cause: {}, or code that has changed since (`flor diff`)",
                       unregistered);
  }
  return fmt::format("likely cause: {}", unregistered);
}

std::unique_ptr<Runtime> make_replayer(Flags flags) {
  auto replayer = std::make_unique<Replayer>(std::move(flags));
  if (replayer->empty()) return nullptr;
  return replayer;
}

}  // namespace flor::detail
