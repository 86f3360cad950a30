#include "record/recorder.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "git/shadow.h"
#include "index/catalog/rank_launch.h"
#include "protocol/printed_tape.h"
#include "protocol/sweep_fact.h"
#include "protocol/value_text.h"
#include "ranks/rank_group.h"
#include "record/run_report.h"
#include "record/source_commit.h"
#include "resume/unregistered.h"
#include "session/preemption.h"
#include "session/run_choice.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <utility>
#include <variant>
#include <vector>

namespace flor::detail {
namespace {

/// The repository or directory by which the name of the last recording here is looked up.
std::filesystem::path place_of_work(const std::optional<git::Repository>& repository) {
  return repository ? repository->work_tree() : std::filesystem::current_path();
}

[[noreturn]] void throw_no_repository() {
  throw Error(
      fmt::format("{} is not in a git repository, so the sources of this run cannot be kept: "
                  "run `git init` first, or pass --flor_no_git",
                  std::filesystem::current_path().string()));
}

std::string experiment_name(const Flags& flags, const store::Catalog& catalog,
                            const std::filesystem::path& place) {
  if (!flags.name.empty()) return flags.name;
  if (auto name = last_name(catalog, place.string())) return *name;
  throw UsageError(
      fmt::format("--flor: no experiment was recorded in {} yet, so it needs a name: --flor NAME",
                  place.string()));
}

/// The run of this rank that is to be resumed, if there is one.
std::optional<store::Run> earlier_run_of(const store::Catalog& catalog,
                                         const store::RankLaunch& launch, const Ranks& ranks) {
  if (!launch.point) return std::nullopt;
  return earlier_run(catalog, launch.group, ranks.rank);
}

/// Sets the facts about this process.
void describe_process(store::NewRun& run, const Flags& flags, const std::filesystem::path& place) {
  run.started_us = now_us();
  run.repository = place.string();
  run.directory = std::filesystem::current_path().string();
  run.program = program_file().string();
  run.program_digest = store::file_digest(run.program);
  run.command = flags.command;
  run.environment = environment();
  if (const char* sweep = std::getenv(kSweepVariable); sweep && *sweep) {
    run.environment[kSweepFact] = sweep;
    ::unsetenv(kSweepVariable);  // programs that this one starts are not part of the sweep
  }
  if (flags.session > 1) run.environment[kSessionFact] = std::to_string(flags.session);
}

/// Records the sweep that the run belongs to as an argument, too. A resumed run does it again,
/// since a killed process may not have come to it.
void name_sweep(store::Catalog& catalog, const store::Run& run) {
  const auto sweep = run.start.environment.find(kSweepFact);
  if (sweep == run.start.environment.end()) return;
  catalog.add_argument(run.id, {.name = kSweepFact, .type = "text", .value = sweep->second});
}

/// Locks a run that continues, and updates the catalog.
store::RunLock lock_earlier(store::Store& store, const std::string& key, const GroupMember& group) {
  auto lock =
      group.is_first() && group.ranks() ? store::lock_first_rank(store, key) : store.lock_run(key);
  if (!lock) throw Busy(fmt::format("run {} is being recorded", key.substr(0, 8)));
  // The previous process may have written something since the store was opened.
  if (!store.catalog().follow()) {
    throw Busy(
        fmt::format("run {} cannot be resumed while the catalog of {} cannot be written: "
                    "wait for the process that holds it, or make room, and try again",
                    key.substr(0, 8), store.home().string()));
  }
  return std::move(*lock);
}

/// The point at which a run of a group is resumed, which is the same for all ranks.
std::optional<store::ResumePoint> point_of_group(const store::Store& store, const store::Run& run,
                                                 const std::optional<store::RankLaunch>& launch,
                                                 const GroupMember& group) {
  if (launch) return launch->point;
  if (!group.ranks()) return std::nullopt;
  return plan_group_resume(store, run.start.rank->group, may_resume_inside(store, run.id));
}

void tell_of_unregistered() {
  try {
    if (const std::string line = print_unregistered(); !line.empty()) say(Level::warn, line);
  } catch (const std::exception& error) {
    say(Level::debug, fmt::format("the sources could not be read: {}", error.what()));
  }
}

void warn_of_nan(NanWatch& watch, const LogRecord& record, const store::Value& value) {
  if (record.type != store::ValueType::real) return;
  const double number = std::get<double>(value.value);
  if (const auto line = watch.note(record.name, value.name, record.epoch, number)) {
    say(Level::warn, *line);
  }
}

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) say(Level::warn, line);
}

}  // namespace

Recorder::Recorder(Flags flags)
    : Runtime(std::move(flags), nullptr),
      group_(ranks_here()),
      storage_({.store = store_,
                .run = run_,
                .priority = priority_,
                .group = group_,
                .flush_journal = [this] { flush_journal(); },
                .written_files =
                    [this] { return files_ ? files_->written() : std::vector<store::UsedFile>(); },
                .epoch = [this]() -> std::optional<std::int64_t> {
                  std::optional<std::int64_t> epoch;
                  if (resumer_.checks()) return epoch;
                  journal_.move([&](const CurrentPlace& place) {
                    if (!place.suppressed) epoch = place.epoch;
                  });
                  return epoch;
                }}),
      loops_({.flags = flags_,
              .frames = frames_,
              .registry = registry_,
              .background = background_,
              .priority = priority_,
              .run = run_,
              .storage = storage_,
              .group = group_}),
      early_end_({.store = store_,
                  .run = run_,
                  .background = background_,
                  .storage = storage_,
                  .group = group_}),
      resumer_({.store = store_,
                .run = run_,
                .flags = flags_,
                .registry = registry_,
                .journal = journal_,
                .keep_logged =
                    [this] {
                      background_->post([this] { flush_journal(); });
                      background_->drain();
                    },
                .refuse = [this](const std::string& message) { early_end_.refuse(message); },
                .refuse_inside =
                    [this](const std::string& message, const std::string& remedy) {
                      early_end_.refuse_inside(message, remedy);
                    }}) {
  const std::optional<Ranks>& ranks = group_.ranks();
  if (ranks) set_notice_rank(ranks->rank);
  std::optional<git::Repository> repository;
  if (flags_.git) {
    repository = git::Repository::discover(std::filesystem::current_path());
    if (!repository && flags_.resume == Resume::no) throw_no_repository();
  }
  store_ = store::Store::open(store::home_directory(flags_.home), store::OpenMode::create);
  store::Catalog& catalog = store_->catalog();
  std::filesystem::path place = place_of_work(repository);
  const std::string launched = ranks ? launch_text(*ranks, place) : std::string();
  std::optional<store::RankLaunch> launch;  // of a rank other than the first
  std::optional<store::Run> resumed;
  std::optional<ForkPoint> forked;
  std::vector<ChangedArgument> changed;  // compared with the run that is forked
  store::NewRun run;
  if (!group_.is_first()) {
    launch = await_first_rank(*store_, *ranks, launched);
    resumed = earlier_run_of(catalog, *launch, *ranks);
    if (!resumed) forked = fork_point_of_group(catalog, launch->group);
    run.experiment = catalog.run(launch->group).value_or(store::Run()).start.experiment;
  } else {
    flags_.name = experiment_of_fork(catalog, flags_);
    if (flags_.resume != Resume::no) resumed = run_to_resume(catalog, flags_, place.string());
    if (resumed && resumed->start.commit.empty()) flags_.git = false;  // as it was recorded
    if (!resumed && !flags_.from.empty()) forked = fork_point(*store_, flags_);
    if (!flags_.git) repository.reset();
    if (flags_.git && !repository) throw_no_repository();
    place = place_of_work(repository);
    run.experiment = resumed ? resumed->start.experiment : experiment_name(flags_, catalog, place);
  }
  if (ranks) {
    run.rank = {.group = launch ? launch->group : 0, .rank = ranks->rank, .world = ranks->world};
  }
  if (forked) put_back_environment(forked->parent);
  describe_process(run, flags_, place);
  run.key = resumed ? resumed->key : store::new_run_key();
  if (resumed) {
    storage_.hold(lock_earlier(*store_, resumed->key, group_));
    take_up_printed_rest(catalog, store_->home(), *resumed);
    refuse_changed(*resumed, arguments_.take(catalog, *resumed, flags_));
  } else {
    if (forked) changed = arguments_.take(catalog, forked->parent, flags_);
    refuse_masked(flags_.kwargs);
    warn_of_masked(flags_.arguments);
  }
  loops_.set_rule(flags_);
  const auto build = build_of_program(repository);
  if (launch) {
    run.commit = launch->commit;
  } else if (repository) {
    run.commit = commit_sources(*repository, run, flags_, *store_);
    packing_.emplace(repository->work_tree());
  }

  store::RankLaunch own{.launch = launched, .commit = run.commit};
  const auto agreed = launch ? launch->check : std::optional<std::int64_t>();
  std::optional<Continuation> from;
  if (resumed) {
    own.point = point_of_group(*store_, *resumed, launch, group_);
    from = resume_run(
        *store_, *resumed,
        {.commit = run.commit, .at = own.point, .agreed = agreed, .warns = group_.is_first()},
        flags_);
  } else if (forked) {
    from = fork_run(*store_, *forked, run, build, changed, flags_, agreed);
  }
  if (from && !from->check.stretch) own.check = from->check.iteration;
  run_ = from ? from->run : catalog.add_run(run, build);
  if (!resumed) {
    auto lock = store_->lock_run(run_.key);
    if (!lock) throw Busy(fmt::format("the lock of run {} is held by another process", run_.key));
    storage_.hold(std::move(*lock));
  }
  name_sweep(catalog, run_);
  if (from) {
    resumed_ = resumed.has_value();
    forked_ = from->forked;
    storage_.take_over(recorded_saves(), resumed_);
    if (resumed_) say(Level::result, print_resumed(run_, from->point));
    resumer_.lead(*std::move(from));
  }
  files_.emplace(store_->home(), run_, journal_, [this](const store::UsedFile& file) {
    background_->post([this, file] { storage_.enter(file); });
  });
  if (resumed_) files_->know(store::files_of(*store_, run_.id));
  if (forked) files_->know(store::files_of(*store_, forked->parent.id));
  group_.begin(*store_, run_, std::move(own), loops_.schedule());
  storage_.open(repository ? repository->work_tree() : std::filesystem::path());
  if (const auto rate = catalog.restore_rate()) loops_.schedule().set_restore_rate(*rate);
  store_->set_patience(lock_patience.usual);
  constexpr std::uint64_t kMib = 1 << 20;
  storage_.keep_printed(static_cast<std::uint64_t>(flags_.beside.output_mib.value_or(0)) * kMib,
                        flags_.beside.is_output_asked);
  storage_.sample_machine(flags_.beside.machine_seconds.value_or(0), flags_.epsilon);
  start_journal();
  loops_.schedule().started(seconds_since(began_));
  watch_signals();
}

Recorder::~Recorder() {
  loops_.taker().stop_hurrying();
  background_.reset();  // first, since its jobs use the other members
}

std::optional<std::string> Recorder::argument_text(std::string_view name, Fallback fallback) {
  return arguments_.text(name, fallback, flags_);
}

void Recorder::note_argument(const store::Argument& argument) {
  background_->post([this, argument] {
    storage_.rows().update([run = run_.id, argument](store::Catalog& catalog) {
      catalog.add_argument(run, argument);
    });
  });
}

// ---------------------------------------------------------------------------------------------
// Loops.

LoopScope::Start Recorder::begin_main(Frame& frame, bool random_access) {
  loops_.begin_main(frame);
  early_end_.enter_loop();
  if (frame.ordinal == 0) {
    if (!resumed_) say(Level::result, print_begun(run_, !flags_.name.empty(), forked_));
    warn(arguments_.unused(
        fmt::format("has not asked, by the beginning of {}, for", frame.component), flags_));
    if (!resumed_ && group_.is_first()) tell_of_unregistered();
  }
  if (const auto start = resumer_.begin_main(frame, random_access)) {
    loops_.pass_by(start->visit ? resumer_.point().iteration : frame.index, start->visit);
    return *start;
  }
  loops_.open_main(frame);
  if (group_.is_called_away())
    preempt(nullptr, fmt::format("the beginning of loop {}", frame.name));
  return {};
}

bool Recorder::enter_main(Frame& frame) {
  frame.iteration.began = Clock::now();
  frame.iteration.flor_seconds = 0;
  resumer_.enter(frame);
  loops_.begin_iteration(!resumer_.rehearses());
  return true;
}

LoopScope::Move Recorder::leave_main(Frame& frame) {
  if (const auto move = resumer_.leave(frame)) return *move;
  const bool preempted = group_.is_called_away();
  loops_.end_iteration(frame, preempted);
  if (preempted) preempt(nullptr, fmt::format("the end of epoch {}", loops_.epochs() - 1));
  return {};
}

void Recorder::end_main(Frame& frame, LoopEnd how) {
  early_end_.leave_loop();
  loops_.news().end();
  if (how == LoopEnd::failed) return fence();
  if (resumer_.leads()) {
    resumer_.end_main(frame, how);
    if (!frame.visited) return;
  }
  loops_.end_main(frame, how);
}

LoopScope::Start Recorder::begin_nested(Frame& frame) {
  loops_.news().enter(frame.component);
  if (const auto start = resumer_.begin_nested(main_frame(), frame)) return *start;
  loops_.begin_nested(frame);
  return {};
}

std::int64_t Recorder::leave_nested(Frame& frame) {
  loops_.news().step(frame.index);
  if (resumer_.leads()) return resumer_.leave_nested(*frames_.front(), frame);
  if (group_.is_called_away()) [[unlikely]] {
    preempt(&frame,
            fmt::format("epoch {}, step {} of {}", loops_.epochs(), frame.index, frame.component));
  }
  loops_.step(frame);
  return 1;
}

void Recorder::end_nested(Frame& frame, LoopEnd how) {
  loops_.news().enter({});
  if (how == LoopEnd::failed) return;
  if (!resumer_.end_nested(main_frame(), frame, how)) loops_.end_nested(frame, how);
}

void Recorder::reach(Frame& frame) {
  resumer_.reach(frame);
  update_place();  // what is printed from here on was not printed before
}

void Recorder::preempt(const Frame* nested, const std::string& where) {
  loops_.take_last(nested);
  early_end_.preempt(where);
}

// ---------------------------------------------------------------------------------------------
// Checkpoints that the program asks for.

void Recorder::keep_checkpoints(const store::CheckpointStrategy& strategy) {
  background_->post([this, strategy] { storage_.set_strategy(strategy); });
}

std::string Recorder::save_checkpoint(std::string_view name,
                                      const std::map<std::string, double>& scores,
                                      std::vector<Slot> objects) {
  const VisitedPlaces::Visit here = visits_.saves.next(journal_);
  const std::string place = VisitedPlaces::text(here.place, here.ordinal);
  // While the program is led to the point of the interruption, the checkpoint is stored already.
  if (here.suppressed || resumer_.checks()) return storage_.saved().recorded_name(place);
  store::SavedCheckpoint saved;
  saved.name = name;
  storage_.saved().identify(saved, place);
  saved.key = save_key(loops_.main_loops());
  saved.key.loop = saved.name;
  saved.place = here.place;
  saved.ordinal = here.ordinal;
  saved.scores = scores;
  if (objects.empty()) {
    loops_.take_saved(saved.key, registry_, attached_here());
  } else {
    Registry given;
    given.add(std::move(objects));
    loops_.take_saved(saved.key, given, {});
  }
  background_->post([this, saved] { storage_.enter(saved); });
  return saved.name;
}

void Recorder::score_checkpoint(std::string_view name,
                                const std::map<std::string, double>& scores) {
  background_->post([this, name = std::string(name), scores] { storage_.score(name, scores); });
}

std::optional<store::FoundCheckpoint> Recorder::find_checkpoint(bool best) {
  fence();
  background_->post([this] {
    storage_.rows().flush_logged();
    storage_.flush_progress();  // an epoch only counts when it is known to be complete
  });
  background_->drain();
  return storage_.find(best);
}

// ---------------------------------------------------------------------------------------------
// Pinned values.

/// A fork executes again what its parent executed before its loops, and logs that for itself.
std::optional<store::Value> Recorder::recorded_pinned(std::string_view name) {
  const store::Catalog& catalog = store_->catalog();
  std::vector<std::int64_t> runs;
  if (resumer_.leads()) runs.push_back(run_.id);
  const bool outside = journal_.place().epoch < 0;
  if (const auto fork = resumer_.leads() && outside ? catalog.fork(run_.id) : std::nullopt) {
    try {
      runs.push_back(catalog.resolve(fork->parent).id);
    } catch (const NotFound&) {  // it was removed since
    }
  }
  FoundPinned found = visits_.pinned.next(catalog, runs, name, journal_);
  if (found.tells && found.here.suppressed) {
    say(Level::warn,
        fmt::format(
            "{}, {}, is not in the record of run {}: it is asked again, and what it returns "
            "on the way to where the run goes on may be something else",
            print_pinned_call(name), print_place(found.here.place), run_.key.substr(0, 8)));
  }
  return std::move(found.value);
}

// ---------------------------------------------------------------------------------------------
// On the background thread.

void Recorder::keep(LogBatch batch) {
  if (!store_) return;
  if (resumer_.checks()) return resumer_.check(batch);
  RowWriter& rows = storage_.rows();
  try {
    for_each_value(
        journal_, batch, ordinals_, [](const LoggedContent&) { return std::string(); },
        [&](const LogRecord& record, store::Value value) {
          warn_of_nan(nan_watch_, record, value);
          const bool content =
              value.type == store::ValueType::tensor || value.type == store::ValueType::image;
          LoggedContent* logged = content ? &batch.contents[record.bits] : nullptr;
          if (resumer_.keeps_recorded(value, logged)) logged = nullptr;
          rows.add(std::move(value), logged);
        });
  } catch (const std::exception& error) {  // no memory for the values
    rows.trouble(RowWriter::Part::rows, error.what());
    for (const LogRecord& record : batch.records) rows.miss(record.epoch, true);
  }
  rows.flush_values();
}

void Recorder::tick() {
  if (!store_) return;
  storage_.write_waiting();
  loops_.account();
  if (const auto line = loops_.news().running(recorder_clock())) say(Level::result, *line);
  early_end_.heed(pending_signal);
}

// ---------------------------------------------------------------------------------------------
// The end.

ExitStatus Recorder::finish(bool failed, std::string_view message) noexcept {
  early_end_.close();
  packing_.reset();
  fence();
  const ExitStatus status = resumer_.leads() ? ExitStatus::failed : ExitStatus::done;
  if (resumer_.leads() && !failed) {
    failed = true;
    message = "the program ended before it came to the point where it was to go on";
    say(Level::error, message);
  }
  loops_.stop();
  if (PrintedOutput* printed = storage_.printed()) printed->stop();
  const auto report = [this, failed] {
    warn(arguments_.unused("never asked for", flags_));
    warn(nan_watch_.at_end());
    const store::Run run = store_->catalog().run(run_.id).value_or(run_);
    const auto& gaps = storage_.rows().health().gaps();
    if (failed) return say(Level::warn, print_failed(run, gaps));
    say(Level::result, print_recorded(run, loops_.schedule().recording(), gaps));
  };
  try {
    background_->post([this] {
      storage_.rows().flush_logged();
      loops_.account();
    });
    background_->drain();
    resumer_.stop();
    loops_.put_schedule();
    background_->post(
        [this, failed, report, why = std::string(message)] { storage_.end(failed, why, report); });
    background_->drain();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
  unwatch_signals();
  group_.close();
  return status;
}

void Recorder::abandon(std::string_view why) noexcept {
  if (loops_.main_loops() > 0 || resumed_) {
    // The run has begun, so it stays, with everything that was recorded until the error.
    finish(true, why);
    return;
  }
  resumer_.stop();
  background_->post([this] { storage_.drop(); });
  background_->drain();
}

void Recorder::forget_in_child() noexcept {
  unwatch_signals();
  storage_.forget_in_child();
}

std::unique_ptr<Runtime> make_recorder(Flags flags) {
  return std::make_unique<Recorder>(std::move(flags));
}

}  // namespace flor::detail
