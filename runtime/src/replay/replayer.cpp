#include "replay/replayer.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "replay/skip.h"
#include "session/run_choice.h"
#include "verdict/conclusion.h"
#include "worker/worker.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <span>

namespace flor::detail {

Replayer::Replayer(Flags flags) : Runtime(std::move(flags), nullptr) {
  check_kwargs();
  initial_environment();
  run_on_cores(flags_.cores);
  start_ = {.program = program_to_start(), .directory = std::filesystem::current_path(), .command = {}};
  start_.command.push_back(flags_.command.empty() || hosted_program() ? start_.program.string()
                                                                      : flags_.command[0]);
  start_.command.insert(start_.command.end(), flags_.arguments.begin(), flags_.arguments.end());
  store_ =
      store::Store::open(store::home_directory(flags_.home),
                         flags_.hands_in ? store::OpenMode::read_only : store::OpenMode::existing);
  store::Catalog& catalog = store_->catalog();
  run_ = run_to_replay(catalog, flags_);
  secrets_ = SecretArguments(catalog, run_, flags_.kwargs);
  use_ = store_->use_run(run_.key);
  take_arguments();
  if (run_.start.rank) set_notice_rank(run_.start.rank->rank);
  record_ = std::make_unique<Record>(
      catalog, run_, flags_.alone ? Record::Places::own : Record::Places::of_all_ranks);
  check_probes();
  own_digest_ = program_digest();
  if (!flags_.plugin.empty()) load_plugin();
  Flags asking = flags_;
  asking.no_probe = flags_.no_probe || flags_.shows_what_is_stored();
  std::set<std::string> main_loops;
  for (const store::MainLoop& loop : record_->main_loops()) {
    main_loops.insert(loop.name.substr(0, loop.name.find('~')));
  }
  probes_ = std::make_unique<Probes>(asking, run_, record_->nested_loops(), std::move(main_loops),
                                     record_->nested_left_early(), store::home_directory(flags_.home));
  strong_ = flags_.strong || probes_->walks();
  take_assignment();
  if (empty()) return;
  files_.emplace(store::home_directory(flags_.home), run_.key);
  if (!flags_.shows_what_is_stored()) probes_->announce();
  set_threads();
  put_back_generators(run_.start.environment);
  state_ =
      std::make_unique<RecordedState>(*store_, *record_, registry_, comparison_, !flags_.threads);
  if (probes_->computes_otherwise()) comparison_.computation_changed();
  value_check_ =
      std::make_unique<ValueCheck>(*store_, run_.id, comparison_, same_program());
  findings_ = make_findings();
  keeper_ = std::make_unique<PartKeeper>(*findings_, *assignment_);
  enter_section(0, true);
  start_journal();
  hurry_.emplace(*background_);  // there is no training that it could disturb
}

/// Where the program is the same, of the same sources, with the same arguments: it logs the
/// recorded values.
SameProgram Replayer::same_program() const {
  const std::string& digest = run_.start.program_digest;
  const bool recorded_by_one = std::ranges::all_of(
      store_->catalog().resumptions(run_.id),
      [&](const store::Resumption& later) { return later.program_digest == digest; });
  const auto gaps = store_->catalog().gaps(run_.id);
  const bool has_values = std::ranges::none_of(gaps, &store::Gap::values);
  const bool same = probes_->unchanged() && has_values && recorded_by_one &&
                    recorded_arguments() == own_arguments(run_.start.command.words()) &&
                    store::file_digest(program_file()) == digest;
  const bool finished = run_.state == store::RunState::finished;
  return {.inside = same,
          .outside = same && finished,
          .until = finished ? INT64_MAX : record_->epochs() - 1};
}

Replayer::~Replayer() {
  hurry_.reset();
  background_.reset();
}

std::unique_ptr<Findings> Replayer::make_findings() {
  if (!flags_.hands_in) return std::make_unique<StoredFindings>(*store_, run_.id, replay_);
  return std::make_unique<HandedFindings>(dynamic_cast<HandedOut&>(*assignment_));
}

/// A digest of the question that this process answers, including the loops that it found to
/// execute: the sources may have changed although the program has not.
std::string Replayer::asking_digest() const {
  std::string digest = own_digest_;
  if (!flags_.probes.empty() || probes_->loops().empty()) return digest;
  std::vector<std::string> found = probes_->loops();
  std::ranges::sort(found);
  for (const std::string& loop : found) digest += "\n" + loop;
  return store::digest_of(std::as_bytes(std::span(digest))).hex();
}

void Replayer::take_assignment() {
  const std::string digest = asking_digest();
  if (flags_.worker_socket >= 0) {
    auto handed_out = std::make_unique<HandedOut>(flags_.worker_socket, digest,
                                                  plugin_ ? plugin_->file().digest : "");
    piece_ = handed_out->next({});
    replay_ = handed_out->replay();
    empty_ = piece_.empty() && handed_out->may_end(0);
    assignment_ = std::move(handed_out);
    announce();
    return;
  }
  epochs_ = flags_.epochs.empty()
                ? std::vector{segment_of(record_->epochs(), flags_.segment, flags_.segments)}
                : within_run(flags_.epochs, record_->epochs());
  std::erase_if(epochs_, [](Epochs range) { return range.empty(); });
  empty_ = epochs_.empty() && flags_.segment > 0;
  announce();
  if (empty_) return;
  assignment_ = flags_.shows_what_is_stored() ? epochs_alone(epochs_)
                                              : fixed_assignment(epochs_, record_->main_loops());
  piece_ = assignment_->next({});
  replay_ =
      store_->catalog().add_replay({.run = run_.id,
                                    .started_us = now_us(),
                                    .segment = flags_.segment,
                                    .segments = flags_.segments,
                                    .first_epoch = epochs_.empty() ? 0 : epochs_.front().first,
                                    .last_epoch = epochs_.empty() ? -1 : epochs_.back().end - 1,
                                    .strong = strong_,
                                    .probes = described_probes(probes_->loops(), flags_.plugin),
                                    .program_digest = store::file_digest(program_file()),
                                    .command = flags_.command,
                                    .question = question_of(digest, recorded_arguments(),
                                                            question())});
}

/// The parts of the order that define the question.
WorkerOrder Replayer::question() const {
  return {.run = {},
          .home = {},
          .probes = flags_.probes,
          .no_probe = flags_.no_probe,
          .strong = flags_.strong,
          .threads = flags_.threads,
          .cores = {},
          .plugin = flags_.plugin,
          .plugin_digest = plugin_ ? plugin_->file().digest : std::string()};
}

void Replayer::set_threads() const {
  constexpr int kThreadsMax = 4096;
  if (!adapter().set_threads) return;
  const auto recorded = run_.start.environment.find("threads");
  if (flags_.threads) {
    adapter().set_threads(*flags_.threads);
  } else if (recorded != run_.start.environment.end()) {
    // The record of a fetched run may hold anything here.
    const int threads = std::atoi(recorded->second.c_str());
    if (threads > 0 && threads <= kThreadsMax) adapter().set_threads(threads);
  }
}

void Replayer::announce() const {
  const std::string run =
      fmt::format("replaying run {} of {}", run_.key.substr(0, 8), run_.start.experiment);
  if (flags_.worker_socket >= 0) {
    say(Level::result, fmt::format("{}: epochs as flor replay hands them out", run));
    return;
  }
  const std::string epochs =
      fmt::format("{} of {}", print_epochs(epochs_),
                  record_->epochs() == 1 ? "1 recorded epoch"
                                         : fmt::format("{} recorded epochs", record_->epochs()));
  const std::string segment =
      flags_.segments == 1
          ? std::string()
          : fmt::format(" (segment {} of {}, counted from 0)", flags_.segment, flags_.segments);
  say(Level::result,
      fmt::format("{}: {}{}{}{}{}", run, epochs, segment,
                  strong_ ? ", walking there from the start" : "",
                  flags_.probes.empty()
                      ? ""
                      : fmt::format(", stepping into {}", fmt::join(flags_.probes, ", ")),
                  plugin_ ? fmt::format(", for {}", plugin_->file().name()) : ""));
  if (empty()) {
    say(Level::result, fmt::format("nothing to do: {} segments share {} epochs, and this one is "
                                   "empty",
                                   flags_.segments, record_->epochs()));
  } else if (run_.state == store::RunState::interrupted) {
    say(Level::result, "the run was interrupted: its complete epochs are replayed");
  }
}

void Replayer::check_probes() const {
  const std::set<std::string>& loops = record_->nested_loops();
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
  if (prologue_seconds_ < 0) prologue_seconds_ = seconds_since(began_);
  loop_ = record_->main_loop(frame.component);
  if (!loop_) return begin_unknown(frame);
  complete_section();
  section_ = std::max(section_, loop_->ordinal + 1);
  frame.ordinal = loop_->ordinal;
  frame.first_epoch = loop_->first_epoch;
  random_access_ = random_access;
  registered_ = registry_.names();
  if (piece_.end <= loop_->first_epoch) {
    next_piece({.section = section_,
                .main_loop = loop_->ordinal,
                .iteration = 0,
                .reach = random_access ? Reach::any : Reach::forward});
  }
  show_stored(frame);
  target_ = next_target(frame);
  if (!target_.empty()) return visit(frame, *loop_, random_access);
  if (piece_.empty() && assignment_->may_end(section_)) end_program(ExitStatus::done);
  return pass_by(frame, *loop_);
}

LoopScope::Start Replayer::begin_unknown(Frame& frame) {
  frame.ordinal = -1;
  if (section_ < static_cast<std::int64_t>(record_->main_loops().size())) {
    throw Error(fmt::format(
        "the record has no main loop '{}'; its next one is '{}': give the loop its recorded name, "
        "or write a loop that is new here without flor::loop",
        frame.component, record_->main_loops()[static_cast<std::size_t>(section_)].name));
  }
  if (run_.state == store::RunState::finished) {
    // Added since the record: its epochs follow the recorded ones, and are not shared out.
    frame.first_epoch = record_->epochs() + epochs_added_;
    return {};
  }
  say(Level::warn, fmt::format("the record ends before loop {}: neither it nor what the program "
                               "logs after it is replayed",
                               frame.component));
  enter_part(store::part_outside(section_), false);
  return {.visit = false};
}

void Replayer::report_work() {
  work_.restored = state_->restored() + shown_checkpoints_;
  work_.restored_bytes = state_->restored_bytes() + shown_bytes_;
  assignment_->report(work_);
}

/// The session's thread has nothing to do until it has the next piece.
void Replayer::next_piece(const Position& position) {
  report_work();
  background_->post([this] { keep_complete(true); });  // `flor replay` may wait for it
  piece_ = assignment_->next(position);
  part_began_ = Clock::now();
}

LoopScope::Start Replayer::visit(Frame& frame, const store::MainLoop& loop, bool random_access) {
  const auto start = restore_start(loop);
  frame.index = start.value_or(0);
  aim_at(frame, target_);
  // An iterator that is more than a position is begun in the state in which it was recorded to
  // begin (a sampler draws its permutation then), whichever state is restored afterwards.
  const bool begins_anew = !random_access && start && *start > 0;
  if (begins_anew) restore_boundary(loop, 0);
  if (!start && loop.first_epoch + target_.first > 0) {
    comparison_.difference(
        part_of(frame),
        fmt::format("no boundary before epoch {} is stored: replay started from the program's own "
                    "state",
                    loop.first_epoch + target_.first));
  }
  if (frame.index >= frame.limit) {
    if (begins_anew) restore_boundary(loop, frame.index);
    return {.visit = false};
  }
  if (frame.index > 0) skipped_ = true;
  if (frame.index < target_.first && !strong_) announce_way(frame);
  if (!begins_anew && frame.index > 0) restored_ = frame.index;
  return {.visit = true, .skip = static_cast<std::uint64_t>(frame.index)};
}

void Replayer::announce_way(const Frame& frame) const {
  const std::int64_t epochs = target_.first - frame.index;
  say(Level::result,
      fmt::format("the nearest stored state is that before epoch {}: {} {} executed on the way to "
                  "epoch {}",
                  frame.first_epoch + frame.index, epochs, epochs == 1 ? "epoch is" : "epochs are",
                  frame.first_epoch + target_.first));
}

void Replayer::arrive(Frame& frame, bool) {
  if (std::exchange(restored_, {}) == frame.index) return;
  state_->restore({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}}, {});
}

/// The part that a comparison now counts for: on the way to a target, the target.
std::int64_t Replayer::part_of(const Frame& main) const {
  if (main.index < target_.first && target_.first == loop_->iterations) {  // passing this loop by
    return piece_.empty() ? store::part_outside(section_) : piece_.first;
  }
  return main.first_epoch + std::max(main.index, target_.first);
}

bool Replayer::enter_main(Frame& frame) {
  if (frame.ordinal < 0) return true;
  catching_up_ = frame.index < target_.first;
  met_.clear();
  executed_.clear();
  skipped_in_epoch_ = false;
  computed_ = true;
  enter_part(part_of(frame), !catching_up_);
  return true;
}

LoopScope::Move Replayer::leave_main(Frame& frame) {
  if (frame.ordinal < 0) {
    ++frame.index;
    ++epochs_added_;
    return {};
  }
  end_iteration(frame);
  return frame.index < target_.end ? LoopScope::Move{} : go_on(frame);
}

void Replayer::end_iteration(Frame& frame) {
  const std::int64_t part = part_of(frame), epoch = frame.first_epoch + frame.index;
  ++frame.index;
  compare_path(part, frame);
  state_->compare_with(part, {.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}},
                       fmt::format("end of epoch {}", epoch), {}, computed_);
  if (catching_up_) {
    ++work_.caught_up;
    return;
  }
  show_live(ProbeAt::epoch_end, nullptr, epoch);
  ++visited_;
  complete_epoch(epoch);
}

/// The iteration came to the loops that the recorded one came to, and to no others.
void Replayer::compare_path(std::int64_t part, const Frame& main) {
  const std::int64_t iteration = main.index - 1;
  const std::set<std::string> recorded = record_->executed_in(main.ordinal, iteration);
  const std::int64_t epoch = main.first_epoch + iteration;
  for (const std::string& loop : recorded) {
    if (!met_.contains(loop)) {
      comparison_.difference(
          part, fmt::format("epoch {}: the record executed {}, the replay did not come to it",
                            epoch, loop));
    }
  }
  const std::set<std::string>& known = record_->nested_loops();
  for (const std::string& loop : met_) {
    if (!recorded.contains(loop) && known.contains(loop.substr(0, loop.find('~')))) {
      comparison_.difference(
          part, fmt::format("epoch {}: the replay came to {}, which the record did not execute "
                            "there",
                            epoch, loop));
    }
  }
}

void Replayer::end_main(Frame& frame, LoopEnd how) {
  if (frame.ordinal < 0 && how == LoopEnd::broke) ++epochs_added_;
  if (frame.ordinal < 0 || how == LoopEnd::failed) return;
  if (how == LoopEnd::broke) end_iteration(frame);
  if (frame.visited && frame.index < target_.end) note_unvisited(frame);
  catching_up_ = false;
  const std::int64_t end = loop_->first_epoch + loop_->iterations;
  if (!piece_.empty() && piece_.end <= end) {
    next_piece({.section = section_, .main_loop = frame.ordinal + 1});
  }
  if (piece_.empty() && assignment_->may_end(section_)) end_program(ExitStatus::done);
  leave_loop_early(*loop_, frame.visited ? frame.index : loop_->iterations);
  enter_section(section_, loop_->ended);
  loop_ = nullptr;
}

/// The program left its loop by itself, before the record did.
void Replayer::note_unvisited(const Frame& frame) {
  if (flags_.worker_socket < 0) return;  // `finish` prints how many there are
  for (std::int64_t i = std::max(frame.index, target_.first); i < target_.end; ++i) {
    const std::int64_t epoch = frame.first_epoch + i;
    comparison_.difference(
        epoch, fmt::format("epoch {} was not visited: the program left its loop after epoch {}",
                           epoch, frame.first_epoch + frame.index - 1));
    complete(epoch, false);
  }
}

// ---------------------------------------------------------------------------------------------
// Parts.

void Replayer::enter_part(std::int64_t part, bool ours) {
  journal().move([&](CurrentPlace& place) {
    place.part = part;
    place.suppressed = !ours;
  });
}

/// `recorded`: the run got there.
void Replayer::enter_section(std::int64_t section, bool recorded) {
  const bool ours = assignment_->keeps(section);
  if (ours && !recorded && !interrupted_told_) {
    interrupted_told_ = true;
    say(Level::warn,
        "the record ends inside this loop: what the program logs after it is not kept");
  }
  section_ours_ = ours && recorded;
  enter_part(store::part_outside(section), section_ours_);
  part_began_ = Clock::now();
}

void Replayer::complete_section() {
  if (!std::exchange(section_ours_, false)) return;
  const std::int64_t part = store::part_outside(section_);
  if (ends_the_record(section_)) check([this, part] { value_check_->end_outside(part); });
  complete(part, !skipped_);
}

/// The run came to no later code outside its loops.
bool Replayer::ends_the_record(std::int64_t section) const {
  const auto& loops = record_->main_loops();
  return section == (loops.empty() ? 0 : loops.back().ordinal + (loops.back().ended ? 1 : 0));
}

void Replayer::complete_epoch(std::int64_t epoch) {
  check([this, epoch, loop = loop_->name, executed = executed_] {
    value_check_->end_epoch(epoch, loop, executed);
  });
  complete(epoch, !skipped_in_epoch_);
}

/// On the background thread, when all that was logged until now has been looked at.
void Replayer::check(std::function<void()> what) {
  background_->post([this, what = std::move(what)] {
    flush_journal();
    try {
      if (failure_.empty()) what();
    } catch (const std::exception& error) {
      fail(error);
    }
  });
}

void Replayer::complete(std::int64_t part, bool whole) {
  const double seconds = seconds_since(std::exchange(part_began_, Clock::now()));
  background_->post([this, part, whole, seconds] {
    flush_journal();
    if (!failure_.empty()) return;
    try {
      const store::ReplayResult result = comparison_.take(part);
      parts_.push_back({.part = part,
                        .result = result,
                        .found = verdict_of_new(result, whole),
                        .seconds = seconds});
      keeper_->complete(parts_.back());
    } catch (const std::exception& error) {
      fail(error);
    }
  });
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

bool Replayer::decide_on(const Frame& frame, const store::CheckpointKey& key, bool stored) {
  const Probes::Asked asked = probes_->asked(frame);
  const store::LoopExecution* execution = record_->execution(key);
  const bool broke = execution && execution->broke;
  const SkipDecision decision = decide({.stored = stored,
                                        .catching_up = catching_up_,
                                        .named = asked.named,
                                        .changed = asked.changed,
                                        .read = asked.read,
                                        .leads = probes_->walks(),
                                        .broke = broke,
                                        .left_main = record_->main_loop_may_have_been_left_from(key),
                                        .leaving = broke ? probes_->leaving(frame)
                                                         : sources::Leaving::impossible});
  if (catching_up_) return decision.skips();
  NestedCount& count = work_.nested[frame.name];
  if (decision.skips()) {
    ++count.skipped;
  } else {
    ++count.executed;
    ++count.why[print_reason(decision.reason, asked.question)];
  }
  return decision.skips();
}

LoopScope::Start Replayer::begin_nested(Frame& frame) {
  const Frame& main = main_frame();
  if (main.ordinal < 0) return {};
  const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main.ordinal,
                                 .iteration = main.index,
                                 .loop = frame.component};
  met_.insert(frame.component);
  const auto checkpoint = record_->checkpoint(key);
  const bool stored = checkpoint && state_->has_attached(*checkpoint, frame.settings.attached);
  const bool skip = decide_on(frame, key, stored);
  state_->restore_entry(key, frame.settings.attached);
  show_live(ProbeAt::loop_begin, &frame, main.first_epoch + main.index);
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
    comparison_.difference(part_of(main),
                           fmt::format("{}: {} iterations were recorded, {} were replayed", where,
                                       execution->iterations, begun));
  } else if (frame.cut) {
    comparison_.difference(
        part_of(main),
        fmt::format("{}: the range has more than the {} iterations that were recorded", where,
                    execution->iterations));
  }
  state_->compare_with(part_of(main), key, where, frame.settings.attached, computed_);
}

// ---------------------------------------------------------------------------------------------
// Checkpoints that the program takes.

/// Restores the state that the recorded run had when it took its checkpoint here.
std::string Replayer::save_checkpoint(std::string_view, const std::map<std::string, double>&) {
  const SavePlace here = next_save_place();
  if (!saves_) saves_ = recorded_saves();
  const auto recorded = saves_->find(place_text(here.place, here.ordinal));
  if (recorded == saves_->end()) return {};
  const store::SavedCheckpoint& saved = recorded->second;
  if (!here.suppressed) {
    state_->compare_with(here.part, saved.key, "checkpoint " + saved.name, attached_here(), true);
  }
  return saved.name;
}

std::optional<store::FoundCheckpoint> Replayer::find_checkpoint(bool best) {
  const auto strategy = store_->catalog().strategy(run_.id).value_or(store::CheckpointStrategy{});
  return best ? store::best_checkpoint(*store_, run_.id, strategy)
              : store::latest_checkpoint(*store_, run_.id, strategy);
}

// ---------------------------------------------------------------------------------------------
// Values.

void Replayer::keep(LogBatch batch) {
  try {
    for_each_value(
        batch, ordinals_,
        [this](const LoggedContent& logged) {
          std::string reference = findings_->write_object(logged.item, logged.content);
          if (flags_.hands_in) value_check_->know(reference, logged.item, logged.content);
          return reference;
        },
        [this](const LogRecord& record, store::Value value) {
          if (value_check_->is_new(record.part, value, record.plugged)) {
            keeper_->hold(record.part, std::move(value));
          }
        },
        [this](const store::Value& value) { value_check_->pass(value); });
  } catch (const std::exception& error) {
    fail(error);
  }
}

/// `flor replay` waits for the parts that a worker has taken: one that can keep nothing more ends,
/// so that another takes them.
void Replayer::fail(const std::exception& error) {
  if (!failure_.empty()) return;
  failure_ = error.what();
  if (flags_.worker_socket < 0) return;
  say(Level::error, fmt::format("the replay's values could not be kept: {}", failure_));
  std::_Exit(static_cast<int>(ExitStatus::failed));
}

void Replayer::tick() {
  flush_journal();
  const bool last = assignment_->called_off();
  keep_complete(last);
  if (last) std::_Exit(static_cast<int>(ExitStatus::interrupted));
}

void Replayer::keep_complete(bool now) {
  try {
    if (failure_.empty()) keeper_->keep(now);
  } catch (const std::exception& error) {
    fail(error);
  }
}

// ---------------------------------------------------------------------------------------------
// The end.

ExitStatus Replayer::finish(bool failed, std::string_view message) noexcept {
  try {
    if (!failed) complete_section();
    background_->post([this] {
      flush_journal();
      keep_complete(true);
    });
    background_->drain();
    const std::int64_t asked = count_of(epochs_);
    if (!failed && visited_ < asked) {
      comparison_.difference(
          store::part_outside(0),
          fmt::format("only {} of {} epochs were visited: the program left its loop earlier than "
                      "the record, or never reached it",
                      visited_, asked));
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
    if (flags_.worker_socket < 0) store_->catalog().finish_replay(replay_, result);
    FoundValues found = found_values();
    const double seconds = seconds_since(began_);
    if (state_->restored_bytes() > 0) {
      findings_->add_restore_time({state_->restored_bytes(), state_->restore_seconds()});
    }
    if (failed) return ExitStatus::done;  // the program prints it itself
    report_work();
    files_->report();
    if (flags_.worker_socket < 0) {
      conclude_work(epochs_, seconds, work_, found, flags_);
      if (failure_.empty()) verify(result, found);
      conclude(result, found, comparison_, run_, flags_);
    }
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
