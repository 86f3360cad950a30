#include "record/recorder.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/text.h"
#include "git/shadow.h"
#include "index/catalog/rank_launch.h"
#include "ranks/rank_group.h"
#include "record/source_commit.h"
#include "resume/unregistered.h"
#include "session/build_facts.h"
#include "session/preemption.h"
#include "session/run_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace flor::detail {
namespace {

/// Where "the name last used here" is looked up.
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

/// The run of this process that is to be resumed, if there is one.
std::optional<store::Run> earlier_run_of(const store::Catalog& catalog,
                                         const store::RankLaunch& launch, const Ranks& ranks) {
  if (!launch.point) return std::nullopt;
  return earlier_run(catalog, launch.group, ranks.rank);
}

}  // namespace

Recorder::Recorder(Flags flags)
    : Runtime(std::move(flags), nullptr), group_(ranks_here()), schedule_(flags_) {
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
  std::optional<store::RankLaunch> launch;  // of a rank that follows another
  std::optional<store::Run> resumed;
  std::optional<ForkPoint> forked;
  std::vector<ChangedArgument> changed;  // since the run that is forked
  store::NewRun run;
  if (!group_.is_first()) {
    launch = await_first_rank(*store_, *ranks, launched);
    resumed = earlier_run_of(catalog, *launch, *ranks);
    run.experiment = catalog.run(launch->group).value_or(store::Run()).start.experiment;
  } else {
    flags_.name = experiment_of_fork(catalog, flags_);
    if (flags_.resume != Resume::no) resumed = run_to_resume(catalog, flags_, place.string());
    if (resumed && resumed->start.commit.empty()) flags_.git = false;  // as it was recorded
    if (!resumed && !flags_.from.empty()) forked = fork_point(*store_, flags_, ranks.has_value());
    if (!flags_.git) repository.reset();
    if (flags_.git && !repository) throw_no_repository();
    place = place_of_work(repository);
    run.experiment = resumed ? resumed->start.experiment : experiment_name(flags_, catalog, place);
  }
  if (ranks) {
    run.rank = {.group = launch ? launch->group : 0, .rank = ranks->rank, .world = ranks->world};
  }
  run.started_us = now_us();
  run.repository = place.string();
  run.directory = std::filesystem::current_path().string();
  run.program = program_file().string();
  run.program_digest = store::file_digest(run.program);
  run.command = flags_.command;
  if (forked) put_back_environment(forked->parent);
  run.environment = environment();
  run.key = resumed ? resumed->key : store::new_run_key();
  if (resumed) {
    lock_ = group_.is_first() && ranks ? store::lock_first_rank(*store_, resumed->key)
                                       : store_->lock_run(resumed->key);
    if (!lock_) throw Busy(fmt::format("run {} is being recorded", resumed->key.substr(0, 8)));
    // The process before may have written something since the store was opened.
    if (!catalog.follow()) {
      throw Busy(
          fmt::format("run {} cannot be resumed while the catalog of {} cannot be written: "
                      "wait for the process that holds it, or make room, and try again",
                      resumed->key.substr(0, 8), store_->home().string()));
    }
    refuse_changed(*resumed, arguments_.take(catalog, *resumed, flags_));
  } else {
    if (forked) changed = arguments_.take(catalog, forked->parent, flags_);
    refuse_masked(flags_.kwargs);
    warn_of_masked(flags_.arguments);
  }
  schedule_.set_rule(flags_);
  const auto build = build_of_program(repository);
  if (launch) {
    run.commit = launch->commit;
  } else if (repository) {
    run.commit = commit_sources(*repository, run, flags_, *store_);
    packing_.emplace(repository->work_tree());
  }
  if (repository) outputs_.emplace(repository->work_tree(), store_->home());

  std::optional<store::ResumePoint> point;  // of a group
  if (resumed) {
    if (launch) {
      point = launch->point;
    } else if (ranks) {
      point = plan_group_resume(*store_, resumed->start.rank->group, may_go_on_inside(resumed->id));
    }
    go_on(std::move(*resumed), run.commit, point ? &*point : nullptr);
  } else {
    if (forked) {
      begin_fork(*forked, run, build, changed);
    } else {
      run_ = catalog.add_run(run, build);
    }
    lock_ = store_->lock_run(run_.key);
    if (!lock_) throw Busy(fmt::format("the lock of run {} is held by another process", run_.key));
  }
  group_.begin(*store_, run_, launched, run.commit, point, schedule_);
  checkpoints_.open();
  if (const auto rate = catalog.restore_rate()) schedule_.set_restore_rate(*rate);
  home_ = store_->home();
  // Without locks `flor gc` could not tell that the packs and journals of this process are in use.
  says_in_journal_ = store_->why_locks_fail().empty();
  if (says_in_journal_) catalog.say_in_journal(run_.id);
  store_->set_patience(lock_patience.usual);
  start_journal();
  schedule_.started(seconds_since(began_));
  watch_signals();
}

void Recorder::announce() const {
  say(Level::result, fmt::format("recording {}{} as run {}{}; {}", run_.start.experiment,
                                 flags_.name.empty() ? ", the name used last here," : "",
                                 run_.key.substr(0, 8), forked_, how_to_follow()));
}

std::string Recorder::how_to_follow() const {
  return fmt::format("follow it with: flor plot {} --follow", run_.key.substr(0, 8));
}

Recorder::~Recorder() {
  taker_.stop_hurrying();
  background_.reset();  // its jobs use the members below
}

std::optional<std::string> Recorder::argument_text(std::string_view name, Fallback fallback) {
  return arguments_.text(name, fallback, flags_);
}

void Recorder::note_argument(const store::Argument& argument) {
  update(
      [run = run_.id, argument](store::Catalog& catalog) { catalog.add_argument(run, argument); });
}

LoopScope::Start Recorder::begin_main(Frame& frame, bool random_access) {
  frame.ordinal = main_loops_++;
  frame.first_epoch = epochs_;
  taken_boundary_ = -1;
  in_loop_ = true;
  if (frame.ordinal == 0) {
    if (!resumed_) announce();
    warn_of_unused_arguments(
        fmt::format("has not asked, by the beginning of {}, for", frame.component));
    tell_of_unregistered();
  }
  if (resumption_) {
    if (const auto start = resumption_->begin_main(frame, random_access)) {
      return begin_resumed(frame, *start);
    }
  }
  if (take_forced({.main_loop = frame.ordinal, .iteration = 0, .loop = {}})) taken_boundary_ = 0;
  begin_stretch({}, Edge::iteration);
  put_main_loop(frame, false, false);
  if (group_.is_called_away())
    preempt(nullptr, fmt::format("the beginning of loop {}", frame.name));
  return {};
}

void Recorder::tell_of_unregistered() const {
  if (resumed_ || !group_.is_first()) return;
  try {
    if (const std::string line = print_unregistered(); !line.empty()) say(Level::warn, line);
  } catch (const std::exception& error) {
    say(Level::debug, fmt::format("the sources could not be read: {}", error.what()));
  }
}

Schedule::Now Recorder::now(const Frame& main) {
  return {.main_loop = main.ordinal,
          .iteration = main.index,
          .count = main.count,
          .iteration_seconds = seconds_since(main.iteration_began),
          .flor_seconds = main.flor_seconds,
          .writing = taker_.unwritten().all > 0,
          .degraded = !last_chance_ && !rows_.health().may_try(RowWriter::Part::content),
          .bytes = [this] { return taker_.state_bytes(); }};
}

bool Recorder::stores(const Frame& main) {
  if (const auto decided = schedule_.due()) return store::is_stored(*decided);
  const bool stored = schedule_.stores(now(main));
  const bool waits = *schedule_.decided() == store::StorageReason::late;
  if (stored || waits) taker_.hurry_if_late(waits);
  return stored;
}

bool Recorder::enter_main(Frame& frame) {
  frame.iteration_began = Clock::now();
  frame.flor_seconds = 0;
  if (resumption_) enter_resumed(frame);
  if (!rehearsing_) schedule_.begin_iteration();
  long_epochs_.begin(epochs_, recorder_clock());
  return true;
}

LoopScope::Move Recorder::leave_main(Frame& frame) {
  if (resumption_) {
    if (const auto move = leave_resumed(frame)) return *move;
  }
  const bool preempted = group_.is_called_away();
  last_chance_ = preempted;
  const bool stored = stores(frame);
  if (!stored && (is_forced(frame) || preempted)) {
    schedule_.force(now(frame), store::StorageReason::forced);
  }
  if (stores(frame)) {
    last_chance_ = last_chance_ || schedule_.decided() == store::StorageReason::last;
    if (take_checkpoint({.main_loop = frame.ordinal, .iteration = frame.index + 1, .loop = {}}, {},
                        schedule_.batch())) {
      taken_boundary_ = frame.index + 1;
    }
  }
  last_chance_ = false;
  begin_stretch({}, Edge::iteration);
  complete_iteration(frame);
  put_main_loop(frame, false, false);
  if (preempted) preempt(nullptr, fmt::format("the end of epoch {}", epochs_ - 1));
  return {};
}

void Recorder::complete_iteration(Frame& frame) {
  const store::Iteration iteration{.main_loop = frame.ordinal,
                                   .iteration = frame.index,
                                   .seconds = seconds_since(frame.iteration_began),
                                   .record_seconds = frame.flor_seconds};
  if (schedule_.decided() == store::StorageReason::degraded) rows_.miss(epochs_);
  schedule_.end_iteration(now(frame));
  group_.set_spent(schedule_.is_spent());
  put_schedule();
  if (!rows_.progress().add(iteration)) rows_.miss(epochs_);
  ++frame.index;
  ++epochs_;
  const auto count = frame.count ? static_cast<std::int64_t>(*frame.count) : -1;
  if (const auto news =
          long_epochs_.completed(epochs_ - 1, frame.index, count, iteration.seconds)) {
    say(Level::result, *news);
  }
  // Epochs may be shorter than the time between two ticks.
  if (rows_.health().lasts() && rows_.health().may_try(RowWriter::Part::rows)) {
    background_->post([this] { write_waiting(); });
  }
}

void Recorder::end_main(Frame& frame, LoopEnd how) {
  in_loop_ = false;
  long_epochs_.end();
  if (how == LoopEnd::failed) return fence();
  if (resumption_) {
    end_resumed(frame, how);
    if (!frame.visited) return;
  }
  // The last state is always kept, regardless of the rule for the others.
  const std::int64_t complete = frame.index + (how == LoopEnd::broke ? 1 : 0);
  const bool late = taken_boundary_ != complete;
  last_chance_ = true;
  if (late) take_forced({.main_loop = frame.ordinal, .iteration = complete, .loop = {}});
  last_chance_ = false;
  // An iteration that is left by break or return has run as far as it ever will. It is recorded as
  // the last one in the same write: a resumed run must not continue with another.
  if (how == LoopEnd::broke) complete_iteration(frame);
  if (late) {
    schedule_.ended_with_last_iteration();
    put_schedule();
  }
  fence();  // the last state is to be kept, and the code after it does not run again
  put_main_loop(frame, true, how == LoopEnd::broke);
}

void Recorder::put_main_loop(const Frame& frame, bool ended, bool broke) {
  rows_.progress().put(store::MainLoop{.ordinal = frame.ordinal,
                                       .name = frame.component,
                                       .first_epoch = frame.first_epoch,
                                       .iterations = frame.index,
                                       .ended = ended,
                                       .broke = broke});
}

void Recorder::put_schedule() {
  store::Recording recording = schedule_.recording();
  const Escalation& escalation = taker_.escalation();
  recording.waits = escalation.waits();
  recording.hurried = escalation.hurried();
  recording.fast = escalation.fast();
  recording.raw = escalation.raw();
  rows_.progress().put(schedule_.decisions(), recording);
}

void Recorder::flush_outputs() noexcept {
  if (!outputs_) return;
  try {
    outputs_->enter(store_->catalog(), run_.id);
  } catch (const std::exception&) {  // the next commit has some files more
  }
}

LoopScope::Start Recorder::begin_nested(Frame& frame) {
  long_epochs_.enter(frame.component);
  if (resumption_) {
    if (const auto start = resumption_->begin_nested(main_frame(), frame)) {
      if (frame.arriving) suppress(true);
      return *start;
    }
  }
  // A replay can begin with this iteration only if the boundary before it is stored.
  const bool possible_start = taken_boundary_ == main_frame().index;
  if (possible_start && !frame.settings.attached.empty()) take_entry(frame);
  begin_stretch(frame.component, Edge::body);
  return {};
}

void Recorder::end_nested(Frame& frame, LoopEnd how) {
  long_epochs_.enter({});
  if (how == LoopEnd::failed) return;
  const Frame& main = main_frame();
  if (checking_) {
    if (resumption_->end_checked(main, frame, how)) conclude_check();
    return;
  }
  const store::LoopExecution execution{.main_loop = main.ordinal,
                                       .iteration = main.index,
                                       .loop = frame.component,
                                       .iterations = frame.index + (how == LoopEnd::broke ? 1 : 0),
                                       .broke = how == LoopEnd::broke,
                                       .seconds = seconds_since(frame.opened_at)};
  if (stores(main)) {
    take_checkpoint({.kind = store::CheckpointKind::loop_end,
                     .main_loop = main.ordinal,
                     .iteration = main.index,
                     .loop = frame.component},
                    frame.settings.attached, schedule_.batch());
  }
  begin_stretch(frame.component, Edge::tail);
  if (!rows_.progress().add(execution)) rows_.miss(epochs_);
}

void Recorder::tick() {
  if (!store_) return;
  write_waiting();
  schedule_.ledger().job_begins(taker_.background_cpu());
  if (const auto news = long_epochs_.running(recorder_clock())) say(Level::result, *news);
  heed_signal();
}

ExitStatus Recorder::finish(bool failed, std::string_view message) noexcept {
  in_loop_ = true;  // a signal is too late now
  packing_.reset();
  fence();
  if (resumption_ && !failed) {
    failed = true;
    message = "the program ended before it came to the point where it was to go on";
    say(Level::error, message);
  }
  taker_.stop_hurrying();
  schedule_.ledger().drain();
  const ExitStatus status = resumption_ ? ExitStatus::failed : ExitStatus::done;
  try {
    background_->post([this] {
      rows_.flush_logged();
      schedule_.ledger().job_begins(taker_.background_cpu());
    });
    background_->drain();
    resumption_.reset();
    put_schedule();
    background_->post([this, failed, why = std::string(message)] { end_run(failed, why); });
    background_->drain();
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
  unwatch_signals();
  group_.close();
  return status;
}

void Recorder::end_run(bool failed, const std::string& message) noexcept {
  write_rest();
  try {
    rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
      if (!failed)
        catalog.drop_checkpoints(run_.id, checkpoints_.steps());  // the run is not resumed any more
      catalog.finish_run(run_.id, now_us(), failed, message, rest);
    });
    end_is_written_ = true;
    if (!failed)
      checkpoints_.delete_others(/*at_end=*/true);  // the last one ranks like the others now
    report(failed);
  } catch (const std::exception& error) {
    say(Level::error,
        end_is_written_
            ? fmt::format("run {} has ended: {}", run_.key.substr(0, 8), error.what())
            : fmt::format("the end of run {} could not be recorded: {}; it counts as interrupted, "
                          "and --flor {} --flor_resume computes again what is not stored of it",
                          run_.key.substr(0, 8), error.what(), run_.start.experiment));
  }
  close_store();
}

void Recorder::failed_after_all(std::string_view why) noexcept {
  if (!end_is_written_) return;  // it does not count as finished, as the user was told
  try {
    const auto store = store::Store::open(home_, store::OpenMode::create);
    store->catalog().finish_run(run_.id, now_us(), true, why);
    say(Level::warn, fmt::format("{}: run {} counts as failed; --flor {} --flor_resume goes on "
                                 "with it",
                                 why, run_.key.substr(0, 8), run_.start.experiment));
  } catch (const std::exception& error) {
    say(Level::error,
        fmt::format("the end of run {} could not be recorded: {}", run_.key, error.what()));
  }
}

/// The share of the computing time that recording cost; nothing where that is too short for a
/// percentage.
std::string Recorder::overhead_text() const {
  const store::Recording recording = schedule_.recording();
  constexpr double kTooShort = 0.1;
  if (recording.computed < kTooShort) return {};
  return fmt::format(", overhead {:.1f} %", 100 * recording.cost / recording.computed);
}

void Recorder::warn_of_unused_arguments(std::string_view when) const {
  for (const std::string& line : arguments_.unused(when, flags_)) say(Level::warn, line);
}

/// The numbers are those of the catalog, which `flor show` and `flor list` print, too.
void Recorder::report(bool failed) const {
  warn_of_unused_arguments("never asked for");
  for (const std::string& line : nan_watch_.at_end()) say(Level::warn, line);
  const store::Run run = store_->catalog().run(run_.id).value_or(run_);
  const std::string key = run_.key.substr(0, 8);
  const std::string rank =
      run_.start.rank ? fmt::format(" ({})", print_rank(*run_.start.rank)) : std::string();
  const std::string epochs = fmt::format("{} {}", run.epochs, run.epochs == 1 ? "epoch" : "epochs");
  std::string missing = store::print_gaps(rows_.health().gaps());
  if (!missing.empty()) missing.insert(0, "; MISSING: ");
  if (failed) {
    say(Level::warn,
        fmt::format("run {} of {}{} failed after {}{}; what it recorded is kept (flor "
                    "show {}), and --flor {} --flor_resume goes on with it",
                    key, run_.start.experiment, rank, epochs, missing, key, run_.start.experiment));
  } else {
    say(Level::result,
        fmt::format("recorded {} as run {}{}: {}, {}{}{}; next: flor show {}",
                    run_.start.experiment, key, rank, epochs, store::print_bytes(run.stored_bytes),
                    overhead_text(), missing, key));
  }
}

void Recorder::abandon(std::string_view why) noexcept {
  if (main_loops_ > 0 || resumed_) {  // it is a run, with all that was recorded until the error
    finish(true, why);
    return;
  }
  background_->post([this] {
    try {
      store_->catalog().drop_run(run_.id);
    } catch (const std::exception& error) {
      say(Level::error, error.what());
    }
    close_store();
  });
  background_->drain();
}

void Recorder::forget_in_child() noexcept {
  unwatch_signals();
  if (lock_) lock_->forget_in_child();
}

void Recorder::take_entry(const Frame& nested) noexcept {
  try {
    taker_.take_entry({.key = {.kind = store::CheckpointKind::loop_end,
                               .main_loop = main_frame().ordinal,
                               .iteration = main_frame().index,
                               .loop = entry_name(nested.component)},
                       .epoch = epochs_},
                      nested.settings.attached);
  } catch (const std::exception& error) {  // no memory for its name
    rows_.trouble(RowWriter::Part::content, error.what());
  }
}

bool Recorder::take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                           std::optional<store::SnapshotItem> extra) {
  const auto batch = schedule_.open_single();
  const bool taken = take_checkpoint(key, attached, batch, std::move(extra));
  schedule_.ledger().close(batch);
  return taken;
}

bool Recorder::take_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                               const std::shared_ptr<Batch>& batch,
                               std::optional<store::SnapshotItem> extra) {
  using enum store::CheckpointKind;
  if (key.kind == boundary || key.kind == step) {
    steps_since_ = 0;
    kept_at_ = Clock::now();
  }
  return taker_.take({.key = key, .epoch = epoch_of(key), .last_chance = last_chance_}, attached,
                     batch, std::move(extra));
}

std::int64_t Recorder::epoch_of(const store::CheckpointKey& key) const {
  if (frames_.empty()) return std::max<std::int64_t>(0, epochs_ - 1);
  const bool ends = key.kind == store::CheckpointKind::boundary && key.iteration > 0;
  return main_frame().first_epoch + std::max<std::int64_t>(0, key.iteration) - (ends ? 1 : 0);
}

void Recorder::begin_stretch(std::string_view nested, Edge edge) {
  taker_.begin_stretch(main_frame().component, nested, edge);
}

void Recorder::fence() noexcept { taker_.fence(); }
void Recorder::settle() noexcept { taker_.settle(); }

std::unique_ptr<Runtime> make_recorder(Flags flags) {
  return std::make_unique<Recorder>(std::move(flags));
}

}  // namespace flor::detail
