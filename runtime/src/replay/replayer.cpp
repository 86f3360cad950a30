#include "replay/replayer.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/settings.h"
#include "protocol/value_text.h"
#include "replay/findings_verifier.h"
#include "replay/skip.h"
#include "session/run_choice.h"
#include "verdict/conclusion.h"

#include <flor/store/digest.h>
#include <flor/store/secrets.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

namespace flor::detail {
namespace {

void check_probes(const Flags& flags, const Record& record) {
  const std::set<std::string>& loops = record.nested_loops();
  for (const std::string& probe : flags.probes) {
    if (loops.contains(probe)) continue;
    throw UsageError(
        fmt::format("--flor_probe {}: the run has no such nested loop; it has {}", probe,
                    loops.empty() ? "none" : fmt::format("{}", fmt::join(loops, ", "))));
  }
}

void check_steps(const Flags& flags, const store::Catalog& catalog, const store::Run& run) {
  const StepChoice& steps = flags.asked.steps;
  try {
    require_steps(steps, catalog.executions(run.id));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--flor_step {}: {}", steps.text(), error.what()));
  }
}

std::unique_ptr<Probes> open_probes(const Flags& flags, const store::Run& run,
                                    const Record& record) {
  Flags asking = flags;
  asking.no_probe = flags.no_probe || flags.shows_what_is_stored();
  std::set<std::string> main_loops;
  for (const store::MainLoop& loop : record.main_loops()) {
    main_loops.insert(loop.name.substr(0, loop.name.find('~')));
  }
  return std::make_unique<Probes>(asking, run, record.nested_loops(), std::move(main_loops),
                                  record.nested_left_early(), store::home_directory(flags.home));
}

void set_threads(const Flags& flags, const store::Run& run) {
  constexpr int kThreadsMax = 4096;
  if (!adapter().set_threads) return;
  const auto recorded = run.start.environment.find("threads");
  if (flags.instead.threads) {
    adapter().set_threads(*flags.instead.threads);
  } else if (recorded != run.start.environment.end()) {
    // The record of a fetched run may have any text here.
    const int threads = std::atoi(recorded->second.c_str());
    if (threads > 0 && threads <= kThreadsMax) adapter().set_threads(threads);
  }
}

store::CheckpointKey key_of_end(const Frame& nested, const Frame& main) {
  return {.kind = store::CheckpointKind::loop_end,
          .main_loop = main.ordinal,
          .iteration = main.index,
          .loop = nested.component};
}

/// Whether the recorded run has no later code outside its loops than this section.
bool ends_the_record(const Record& record, std::int64_t section) {
  const auto& loops = record.main_loops();
  return section == (loops.empty() ? 0 : loops.back().ordinal + (loops.back().ended ? 1 : 0));
}

/// Where the program is the recorded one, with the same sources and arguments, so that it must log
/// the recorded values.
SameProgram same_program_as(const store::Catalog& catalog, const store::Run& run,
                            const Record& record, const Probes& probes, const Flags& flags) {
  const std::string& digest = run.start.program_digest;
  const bool recorded_by_one = std::ranges::all_of(
      catalog.resumptions(run.id),
      [&](const store::Resumption& later) { return later.program_digest == digest; });
  const auto gaps = catalog.gaps(run.id);
  const bool has_values = std::ranges::none_of(gaps, &store::Gap::values);
  const bool same = probes.unchanged() && has_values && recorded_by_one &&
                    flags.instead.arguments.empty() &&
                    recorded_arguments(flags) == own_arguments(run.start.command.words()) &&
                    store::file_digest(program_file()) == digest;
  const bool finished = run.state == store::RunState::finished;
  return {.inside = same,
          .outside = same && finished,
          .until = finished ? INT64_MAX : record.epochs() - 1};
}

/// How the choice of steps applies to this replay.
ChosenSteps::Facts step_facts(const store::Run& run, const Record& record, const Probes& probes,
                              const Flags& flags) {
  const StepChoice& choice = flags.asked.steps;
  // Ranks that leave a loop at different steps would wait for each other forever.
  const bool in_group = run.start.rank && !flags.ordered.alone;
  const bool is_known = choice.empty() || !probes.unchanged() ||
                        store::file_digest(program_file()) == run.start.program_digest;
  return {.choice = choice,
          .record = record,
          .probes = probes,
          .in_full = flags.asked.in_full || in_group || probes.walks(),
          .open = !is_known || probes.may_ask_outside()};
}

/// A proof holds for the program that recorded the run. Throws UsageError if this is another one.
void require_own_program(const store::Run& run, const Probes& probes) {
  const auto is_recorded_file = [&] {
    return store::file_digest(program_file()) == run.start.program_digest;
  };
  if (probes.unchanged() || (!probes.computes_otherwise() && is_recorded_file())) return;
  throw UsageError(fmt::format(
      "{} is not the program that recorded run {}: nothing is dropped unless that one computes it "
      "again; `git checkout {}` brings its sources back",
      program_file().string(), run.key.substr(0, 8), run.start.commit.substr(0, 10)));
}

/// The facts about this process for which a proof holds.
std::map<std::string, std::string> facts_of_proof() {
  std::map<std::string, std::string> facts = environment();
  facts.erase("generators");
  facts["processor"] = processor();
  return facts;
}

/// Ends this worker, which cannot keep anything more. `flor replay` waits for the parts that it has
/// taken, and gives them to another worker.
void end_worker(const std::string& why) {
  say(Level::error, fmt::format("the replay's values could not be kept: {}", why));
  std::_Exit(static_cast<int>(ExitStatus::failed));
}

}  // namespace

Replayer::Replayer(Flags flags) : Runtime(std::move(flags), nullptr) {
  ReplayedArguments::check(flags_.kwargs);
  initial_environment();
  run_on_cores(flags_.cores);
  store_ = store::Store::open(store::home_directory(flags_.home), flags_.ordered.hands_in
                                                                      ? store::OpenMode::read_only
                                                                      : store::OpenMode::existing);
  store::Catalog& catalog = store_->catalog();
  run_ = run_to_replay(catalog, flags_);
  use_ = store_->use_run(run_.key);
  if (flags_.worker_socket < 0) {  // `flor replay` has checked them
    const auto settings =
        store::Settings::read({{.name = "home", .flag = "--flor_home", .value = flags_.home}});
    check_overrides(catalog, run_, flags_.instead, settings.get("overridable").value);
  }
  arguments_ = ReplayedArguments(catalog, run_, flags_.kwargs, flags_.instead.arguments);
  if (run_.start.rank) set_notice_rank(run_.start.rank->rank);
  record_ = std::make_unique<Record>(
      catalog, run_, flags_.ordered.alone ? Record::Places::own : Record::Places::of_all_ranks);
  record_->leave_out_copied(catalog);
  if (flags_.ordered.walk.proves) record_->load_only(flags_.ordered.walk.starts);
  check_probes(flags_, *record_);
  check_steps(flags_, catalog, run_);
  std::string digest = program_digest();  // computed before the plug-in is loaded
  plugin_ = PluginCalls(flags_,
                        {.key = run_.key,
                         .experiment = run_.start.experiment,
                         .argument = [this](const char* name) { return arguments_.shown(name); }},
                        journal());
  probes_ = open_probes(flags_, run_, *record_);
  if (flags_.ordered.walk.proves) require_own_program(run_, *probes_);
  const bool strong = flags_.strong || probes_->walks();
  task_ = std::make_unique<ReplayTask>(TaskFacts{.store = *store_,
                                                 .flags = flags_,
                                                 .run = run_,
                                                 .record = *record_,
                                                 .probes = *probes_,
                                                 .plugin = plugin_,
                                                 .program_digest = std::move(digest),
                                                 .strong = strong});
  if (!empty()) open(strong);
}

void Replayer::open(bool strong) {
  files_.emplace(store::home_directory(flags_.home), run_, journal_,
                 [this](std::string why) { comparison_.doubt(std::move(why)); });
  files_->know(store::files_of(*store_, run_.id));
  if (!flags_.shows_what_is_stored()) probes_->announce();
  set_threads(flags_, run_);
  put_back_generators(run_.start.environment);
  state_ = std::make_unique<RecordedState>(*store_, *record_, registry_, comparison_,
                                           !flags_.instead.threads, flags_.ordered.walk.proves);
  if (!flags_.ordered.walk.returns.empty()) {
    state_->store_again(*store_, flags_.ordered.walk.returns);
  }
  steps_ = std::make_unique<ChosenSteps>(step_facts(run_, *record_, *probes_, flags_));
  if (probes_->computes_otherwise()) comparison_.computation_changed();
  const NewValueFacts facts{.otherwise = probes_->computes_otherwise(),
                            .proven = probes_->proof().proven && flags_.instead.arguments.empty(),
                            .plugged = !flags_.plugin.empty()};
  parts_ = std::make_unique<PartChecker>(
      task_->make_findings(), task_->assignment(),
      std::make_unique<ValueCheck>(
          *store_, run_.id, comparison_,
          same_program_as(store_->catalog(), run_, *record_, *probes_, flags_)),
      comparison_, facts, flags_.worker_socket < 0 ? PartChecker::OnFailure() : end_worker);
  if (flags_.ordered.walk.proves) parts_->prove_in(facts_of_proof());
  walk_ = std::make_unique<SegmentWalk>(
      WalkedRecord{.loops = record_->main_loops(),
                   .boundaries = record_->boundaries(),
                   .epochs = record_->epochs(),
                   .finished = run_.state == store::RunState::finished},
      task_->first_piece(), task_->assignment(), registry_, comparison_,
      static_cast<WalkHost&>(*this), strong);
  enter_section(true);
  start_journal();
  hurry_.emplace(*background_);  // there is no training that it could disturb
}

Replayer::~Replayer() {
  hurry_.reset();
  background_.reset();
}

// ---------------------------------------------------------------------------------------------
// The main loop.

LoopScope::Start Replayer::begin_main(Frame& frame, bool random_access) {
  times_.note_first_loop();
  const store::MainLoop* const loop = record_->main_loop(frame.component);
  if (!loop) {
    const LoopScope::Start start = walk_->begin_new(frame);
    if (!start.visit) enter_part(store::part_outside(walk_->section()), false);
    return start;
  }
  complete_section();
  const auto start = walk_->begin(*loop, frame, random_access);
  if (!start) end_program(ExitStatus::done);
  return *start;
}

void Replayer::arrive(Frame& frame, bool) {
  if (!walk_->must_restore(frame.index)) return;
  state_->restore({.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}}, {});
}

bool Replayer::enter_main(Frame& frame) {
  if (frame.ordinal < 0) {
    steps_->begin_epoch(frame, false);
    return true;
  }
  walk_->enter(frame);
  steps_->begin_epoch(frame, !walk_->catching_up());
  path_.begin();
  enter_part(walk_->part_of(frame), !walk_->catching_up());
  return true;
}

LoopScope::Move Replayer::leave_main(Frame& frame) {
  if (frame.ordinal < 0) {
    ++frame.index;
    walk_->count_new_epoch();
    return {};
  }
  end_iteration(frame);
  return walk_->leave(frame);
}

void Replayer::end_iteration(Frame& frame) {
  if (steps_->is_answered()) {
    restore_boundary(*walk_->loop(), ++frame.index);
    return;
  }
  const std::int64_t part = walk_->part_of(frame), epoch = frame.first_epoch + frame.index;
  const std::set<std::string> recorded = record_->executed_in(frame.ordinal, frame.index);
  ++frame.index;
  for (std::string& line : path_.differences(recorded, record_->nested_loops(), epoch)) {
    comparison_.difference(part, std::move(line));
  }
  if (steps_->shortened()) {
    restore_boundary(*walk_->loop(), frame.index);
  } else {
    state_->compare_with(part, {.main_loop = frame.ordinal, .iteration = frame.index, .loop = {}},
                         fmt::format("end of epoch {}", epoch), {}, path_.computed());
  }
  if (walk_->catching_up()) {
    ++work_.caught_up;
    return;
  }
  plugin_.call_live(ProbeAt::epoch_end, registry_, main_frame(), nullptr, epoch);
  ++visited_;
  complete_epoch(epoch, path_.executed());
}

void Replayer::complete_early(const Frame& nested) {
  const Frame& main = main_frame();
  const std::int64_t epoch = main.first_epoch + main.index;
  ++visited_;
  ExecutedLoops executed = path_.executed();
  executed[nested.component] = nested.index;
  complete_epoch(epoch, std::move(executed));
  enter_part(epoch, false);
  if (walk_->is_over_in(main)) end_program(ExitStatus::done);
}

void Replayer::end_main(Frame& frame, LoopEnd how) {
  if (frame.ordinal < 0 && how == LoopEnd::broke) walk_->count_new_epoch();
  if (frame.ordinal < 0 || how == LoopEnd::failed) return;
  if (how == LoopEnd::broke) end_iteration(frame);
  if (flags_.worker_socket >= 0) {  // without a worker `finish` prints how many there are
    const Epochs unvisited = walk_->unvisited(frame);
    for (std::int64_t epoch = unvisited.first; epoch < unvisited.end; ++epoch) {
      comparison_.difference(
          epoch, fmt::format("epoch {} was not visited: the program left its loop after epoch {}",
                             epoch, frame.first_epoch + frame.index - 1));
      complete(epoch, false);
    }
  }
  if (!walk_->end(frame)) end_program(ExitStatus::done);
  walk_->restore_end(frame);
  enter_section(walk_->loop()->ended);
  walk_->close();
}

bool Replayer::restore_boundary(const store::MainLoop& loop, std::int64_t iteration) {
  return state_->restore({.main_loop = loop.ordinal, .iteration = iteration, .loop = {}}, {});
}

/// Waits for the next piece: the session's thread has nothing else to do.
Epochs Replayer::next_piece(const Position& position) {
  report_work();
  // `flor replay` may be waiting for these parts.
  post([](PartChecker& parts) { parts.keep(true); });
  const Epochs piece = task_->assignment().next(position);
  times_.begin_part();
  return piece;
}

void Replayer::report_work() {
  work_.restored = state_->restored() + plugin_.shown();
  work_.restored_bytes = state_->restored_bytes() + plugin_.shown_bytes();
  task_->assignment().report(work_);
}

bool Replayer::is_answered_from_store(const store::MainLoop& loop, std::int64_t iteration) const {
  if (steps_->asks_nothing(loop.ordinal, iteration)) return true;
  return flags_.shows_what_is_stored() && plugin_.is_stored(*record_, loop.ordinal, iteration);
}

void Replayer::answer_from_store(Frame& frame, std::int64_t iteration) {
  const std::int64_t epoch = frame.first_epoch + iteration;
  const std::int64_t before = std::exchange(frame.index, iteration);
  update_place();
  enter_part(epoch, true);
  std::vector<store::CheckpointKey> shown;
  if (flags_.shows_what_is_stored()) shown = plugin_.wanted(*record_, frame.ordinal, iteration);
  for (const store::CheckpointKey& key : shown) {
    const std::int64_t checkpoint = state_->brought(*record_->checkpoint(key));
    plugin_.call_stored(*store_, checkpoint, key, main_frame(), epoch);
  }
  frame.index = before;
  ++visited_;
  post([epoch](PartChecker& parts) { parts.forget(epoch); });
  complete(epoch, false);
}

// ---------------------------------------------------------------------------------------------
// Parts.

void Replayer::enter_part(std::int64_t part, bool ours) {
  journal().move([&](CurrentPlace& place) {
    place.part = part;
    place.suppressed = !ours;
  });
}

/// `recorded`: the recorded run reached this section.
void Replayer::enter_section(bool recorded) {
  const std::int64_t section = walk_->section();
  const bool ours = task_->assignment().keeps(section);
  if (ours && !recorded && !section_.is_told) {
    section_.is_told = true;
    say(Level::warn,
        "the record ends inside this loop: what the program logs after it is not kept");
  }
  section_.ours = ours && recorded;
  section_.in_record = recorded;
  enter_part(store::part_outside(section), section_.ours);
  times_.begin_part();
}

void Replayer::complete_section() {
  if (!std::exchange(section_.ours, false)) return;
  const std::int64_t part = store::part_outside(walk_->section());
  if (ends_the_record(*record_, walk_->section())) {
    post([part](PartChecker& parts) { parts.end_outside(part); });
  }
  complete(part, !walk_->skipped() && !path_.ever_skipped());
}

void Replayer::complete_epoch(std::int64_t epoch, ExecutedLoops executed) {
  post([epoch, loop = walk_->loop()->name, executed = std::move(executed),
        outside = !steps_->any()](PartChecker& parts) {
    parts.end_epoch(epoch, loop, executed, outside);
  });
  if (flags_.ordered.walk.proves) {
    post([names = state_->take_equal()](PartChecker& parts) { parts.reproduced(names); });
  }
  const bool early = steps_->is_answered();  // in a loop that is being executed
  complete(epoch, steps_->any() && !early ? path_.is_whole_in_loops() : path_.is_whole());
}

void Replayer::complete(std::int64_t part, bool whole) {
  const double seconds = times_.end_part();
  post([part, whole, seconds](PartChecker& parts) { parts.complete(part, whole, seconds); });
}

void Replayer::post(std::function<void(PartChecker&)> what) {
  background_->post([this, what = std::move(what)] {
    flush_journal();
    what(*parts_);
  });
}

/// A value that the program was not told when it was recorded leads it away from the record.
std::optional<store::Value> Replayer::recorded_pinned(std::string_view name) {
  FoundPinned found = visits_.pinned.next(store_->catalog(), {run_.id}, name, journal_);
  if (found.value || !section_.in_record) return std::move(found.value);
  const std::string where =
      fmt::format("{}, {},", print_pinned_call(name), print_place(found.here.place));
  // Behind the parts that are complete: what came before is not doubtful.
  post([this, why = where + " is not in the record"](PartChecker&) { comparison_.doubt(why); });
  if (found.tells) {
    say(Level::warn, fmt::format("{} is not in the record of run {}: it is asked now, and "
                                 "everything from here on is doubtful",
                                 where, run_.key.substr(0, 8)));
  }
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------
// Nested loops.

bool Replayer::skips(Frame& frame, const store::CheckpointKey& key, bool stored) {
  const Probes::Asked asked = probes_->asked(frame);
  const store::LoopExecution* execution = record_->execution(key);
  const bool broke = execution && execution->broke;
  const LoopFacts unasked{
      .stored = stored,
      .catching_up = walk_->catching_up(),
      .leads = probes_->walks(),
      .broke = broke,
      .left_main = record_->main_loop_may_have_been_left_from(key),
      .leaving = broke ? probes_->leaving(frame) : sources::Leaving::impossible};
  LoopFacts facts = unasked;
  facts.named = asked.named;
  facts.changed = asked.changed;
  facts.read = asked.read;
  if (!asked.named && !asked.changed && !asked.read) steps_->note_unasked(frame);
  const std::optional<std::int64_t> end = steps_->begin_loop(main_frame(), frame);
  const SkipDecision decision = decide(end == 0 ? unasked : facts);
  if (execution) {
    frame.limit = execution->iterations;
    frame.limit_broke = broke;
  }
  const bool early = end && !decision.skips() && decide(unasked).skips();
  if (early) steps_->leave_after(frame, *end);
  if (decision.skips() && !decide(facts).skips()) steps_->note_skipped();
  if (walk_->catching_up() || steps_->is_answered()) return decision.skips();
  NestedCount& count = work_.nested[frame.name];
  if (decision.skips()) {
    ++count.skipped;
  } else {
    ++count.executed;
    ++count.why[print_reason(decision.reason, asked.question) +
                (early ? " (up to a chosen step)" : "")];
  }
  return decision.skips();
}

/// Does nothing without a plug-in, if it is not to be called at this point, or if the epoch is only
/// executed to reach another.
void Replayer::show_live(ProbeAt at, const Frame* nested) {
  const Frame& main = main_frame();
  if (walk_->catching_up() || steps_->is_answered()) return;
  plugin_.call_live(at, registry_, main, nested, main.first_epoch + main.index);
}

LoopScope::Start Replayer::begin_nested(Frame& frame) {
  const Frame& main = main_frame();
  if (main.ordinal < 0) return {};
  const store::CheckpointKey key = key_of_end(frame, main);
  path_.meet(frame.component);
  const auto checkpoint = record_->checkpoint(key);
  const bool stored = checkpoint && state_->has_attached(*checkpoint, frame.settings.attached);
  const bool skip = skips(frame, key, stored);
  state_->restore_entry(walk_->part_of(main), key, frame.settings.attached);
  show_live(ProbeAt::loop_begin, &frame);
  if (skip) {
    path_.set_computed(false);
    state_->restore(key, frame.settings.attached);
    return {.visit = false};
  }
  if (record_->execution(key)) path_.set_computed(true);
  return {};
}

std::int64_t Replayer::leave_nested(Frame& frame) {
  if (main_frame().ordinal < 0) return 1;
  show_live(ProbeAt::step_end, &frame);
  if (steps_->ends_with(frame)) complete_early(frame);
  return 1;
}

void Replayer::end_nested(Frame& frame, LoopEnd how) {
  const Frame& main = main_frame();
  if (how == LoopEnd::failed) path_.forget(frame.component);
  if (main.ordinal < 0 || how == LoopEnd::failed) return;
  const store::CheckpointKey key = key_of_end(frame, main);
  const store::LoopExecution* execution = record_->execution(key);
  if (!execution) return;
  if (steps_->left_early(frame, how)) {
    path_.set_computed(false);
    state_->restore(key, frame.settings.attached);
    return;
  }
  if (steps_->is_answered()) return;
  const std::int64_t part = walk_->part_of(main);
  const std::string where =
      fmt::format("end of {}, epoch {}", frame.component, main.first_epoch + main.index);
  const std::int64_t begun = frame.index + (how == LoopEnd::broke ? 1 : 0);
  if (begun != execution->iterations) {
    comparison_.difference(part, fmt::format("{}: {} iterations were recorded, {} were replayed",
                                             where, execution->iterations, begun));
  } else if (frame.cut) {
    comparison_.difference(
        part, fmt::format("{}: the range has more than the {} iterations that were recorded", where,
                          execution->iterations));
  }
  state_->compare_with(part, key, where, frame.settings.attached, path_.computed());
}

void Replayer::left_nested(Frame& frame, LoopEnd how) {
  const bool early = steps_->left_early(frame, how);
  early ? path_.leave_early(frame.component, frame.index)
        : path_.leave(frame.component, frame.visited);
  if (frames_.empty() || main_frame().ordinal < 0 || how == LoopEnd::failed) return;
  show_live(ProbeAt::loop_end, &frame);
}

// ---------------------------------------------------------------------------------------------
// Checkpoints that the program takes.

/// Restores the state that the recorded run had when it took its checkpoint at this place.
std::string Replayer::save_checkpoint(std::string_view, const std::map<std::string, double>&,
                                      std::vector<Slot> objects) {
  const VisitedPlaces::Visit here = visits_.saves.next(journal_);
  if (!saves_) saves_ = recorded_saves();
  const auto recorded = saves_->find(VisitedPlaces::text(here.place, here.ordinal));
  if (recorded == saves_->end()) return {};
  const store::SavedCheckpoint& saved = recorded->second;
  if (here.suppressed) return saved.name;
  const std::string where = "checkpoint " + saved.name;
  if (objects.empty()) {
    state_->compare_with(here.part, saved.key, where, attached_here(), true);
  } else {
    Registry given;
    given.add(std::move(objects));
    state_->of(given).compare_with(here.part, saved.key, where, {}, true);
  }
  return saved.name;
}

std::optional<store::FoundCheckpoint> Replayer::find_checkpoint(bool best) {
  const auto strategy = store_->catalog().strategy(run_.id).value_or(store::CheckpointStrategy{});
  return best ? store::best_checkpoint(*store_, run_.id, strategy)
              : store::latest_checkpoint(*store_, run_.id, strategy);
}

// ---------------------------------------------------------------------------------------------
// Values, on the background thread.

void Replayer::keep(LogBatch batch) {
  try {
    for_each_value(
        journal_, batch, parts_->ordinals(), [](const LoggedContent&) { return std::string(); },
        [&](const LogRecord& record, store::Value value) {
          const bool asked = steps_->asks(value.place);
          if (!asked && value.place.step < 0) return;
          if (value.type == store::ValueType::tensor || value.type == store::ValueType::image) {
            const LoggedContent& logged = batch.contents[record.bits];
            value.value = asked ? parts_->take_content(logged, flags_.ordered.hands_in)
                                : parts_->know_content(logged);
          }
          if (!asked) return parts_->compare_value(record.part, value, record.plugged);
          parts_->take_value(record.part, std::move(value), record.plugged);
        },
        [this](const store::Value& value) { parts_->pass(value); });
  } catch (const std::exception& error) {
    parts_->fail(error.what());
  }
}

void Replayer::tick() {
  flush_journal();
  const bool last = task_->assignment().called_off();
  parts_->keep(last);
  if (last) std::_Exit(static_cast<int>(ExitStatus::interrupted));
}

// ---------------------------------------------------------------------------------------------
// The end.

ExitStatus Replayer::finish(bool failed, std::string_view message) noexcept {
  try {
    if (!failed) complete_section();
    post([](PartChecker& parts) { parts.keep(true); });
    background_->drain();
    return conclude_replay(failed, message);
  } catch (const std::exception& error) {
    say(Level::error, fmt::format("the replay's result could not be kept: {}", error.what()));
    return ExitStatus::failed;
  }
}

store::ReplayResult Replayer::make_result(bool failed, std::string_view message) {
  if (!failed && visited_ < task_->asked()) {
    comparison_.difference(
        store::part_outside(0),
        fmt::format("only {} of {} epochs were visited: the program left its loop earlier than "
                    "the record, or never reached it",
                    visited_, task_->asked()));
  }
  store::ReplayResult result = comparison_.result();
  result.finished_us = now_us();
  const std::string& failure = parts_->failure();
  if (failed) {
    result.verdict = store::Verdict::failed;
    result.first_difference = store::masked(message);
  } else if (!failure.empty()) {
    result.verdict = store::Verdict::failed;
    result.first_difference = store::masked(failure);
    say(Level::error, fmt::format("the replay's values could not be kept: {}", failure));
  }
  return result;
}

/// To be called when the background thread has been drained.
ExitStatus Replayer::conclude_replay(bool failed, std::string_view message) {
  store::ReplayResult result = make_result(failed, message);
  const std::string& failure = parts_->failure();
  const bool alone = flags_.worker_socket < 0;
  if (alone) store_->catalog().finish_replay(task_->id(), result);
  FoundValues found;
  for (const store::ReplayedPart& part : parts_->parts()) found.add(part);
  const double seconds = times_.seconds();
  if (state_->restored_bytes() > 0) {
    parts_->findings().add_restore_time({state_->restored_bytes(), state_->restore_seconds()});
  }
  if (failed) return ExitStatus::done;  // the program prints the failure itself
  report_work();
  files_->report();
  if (alone) {
    conclude_work(task_->epochs(), seconds, work_, found, flags_);
    if (failure.empty()) {
      verify_findings({.store = *store_,
                       .run = run_,
                       .record = *record_,
                       .flags = flags_,
                       .id = task_->id(),
                       .question = task_->question(),
                       .start = task_->start(),
                       .walks = probes_->walks(),
                       .startup = times_.startup(),
                       .seconds = times_.seconds()},
                      parts_->parts(), result, found);
    }
    conclude(result, found, comparison_, run_, flags_);
  }
  if (!failure.empty()) return ExitStatus::failed;
  return result.verdict == store::Verdict::differs ? ExitStatus::differs : ExitStatus::done;
}

std::unique_ptr<Runtime> make_replayer(Flags flags) {
  auto replayer = std::make_unique<Replayer>(std::move(flags));
  if (replayer->empty()) return nullptr;
  return replayer;
}

}  // namespace flor::detail
