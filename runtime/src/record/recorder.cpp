#include "record/recorder.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "base/text.h"
#include "git/shadow.h"
#include "index/catalog/rank_launch.h"
#include "ranks/rank_group.h"
#include "record/unregistered.h"
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

/// Makes one line of it: a trailer is one line, whatever bytes an argument has.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  }
  return text;
}

/// With trailers that `git log --format='%(trailers)'` shows.
std::string commit_message(const store::NewRun& run, const Flags& flags) {
  std::string arguments;
  for (const auto& [name, value] : flags.kwargs) {
    arguments += fmt::format("{}{}={}", arguments.empty() ? "" : " ", name,
                             store::masked_value(name, value));
  }
  const std::string experiment = one_line(run.experiment);
  std::string message =
      fmt::format("flor: {}\n\nFlor-Run: {}\nFlor-Experiment: {}\nFlor-Command: {}\n", experiment,
                  run.key, experiment, one_line(run.command.text()));
  if (!arguments.empty()) message += fmt::format("Flor-Args: {}\n", one_line(arguments));
  return message;
}

/// Removes secrets: a build that needs them has to get them from its environment.
void leave_secrets_out(BuildRecipe& recipe) {
  const auto is_secret = [](const std::string& name, const std::string& value) {
    return store::masked_value(name, value) != value;
  };
  std::erase_if(recipe.cache, [&](const CacheVariable& variable) {
    return is_secret(variable.name, variable.value);
  });
  std::erase_if(recipe.environment, [&](const auto& variable) {
    return is_secret(variable.first, variable.second);
  });
  recipe.flags = store::masked(recipe.flags);
}

/// How the program was built, if it says so. The recorded sources may be others than its own.
std::optional<store::RunBuild> build_of_program(const std::optional<git::Repository>& repository) {
  auto recipe = program_recipe();
  if (!recipe) return std::nullopt;
  leave_secrets_out(*recipe);
  store::RunBuild build{.recipe = recipe->encode(), .remark = {}};
  build.remark =
      why_of_other_sources(repository ? repository->work_tree() : std::filesystem::path(),
                           repository ? repository->head().value_or("") : std::string());
  if (!build.remark.empty()) {
    say(Level::warn, fmt::format("{} {}: the recorded sources are not those that run; build it "
                                 "from them, and record again",
                                 executable().filename().string(), build.remark));
  }
  return build;
}

/// All names in one line, or as many as can be read, and the file that has them all.
void tell_of_secrets(const git::ShadowCommit& commit) {
  if (commit.secrets.empty()) return;
  constexpr std::size_t kReadable = 8000;
  std::string names;
  std::size_t named = 0;
  for (; named < commit.secrets.size() && names.size() < kReadable; ++named) {
    names += (names.empty() ? "" : ", ") + commit.secrets[named];
  }
  const std::size_t more = commit.secrets.size() - named;
  if (more > 0) names += fmt::format(" and {} more, all of them in {}", more, commit.secrets_file);
  const bool one = commit.secrets.size() == 1;
  say(Level::warn,
      fmt::format("not committed: {} untracked {} like {}: {}; git add NAME, or !NAME in "
                  "flor.exclude, keeps {}",
                  commit.secrets.size(), one ? "file that looks" : "files that look",
                  one ? "a secret" : "secrets", names, one ? "it" : "one"));
}

std::string commit_sources(git::Repository& repository, const store::NewRun& run,
                           const Flags& flags, store::Store& store) {
  git::CommitOptions options;
  options.message = commit_message(run, flags);
  options.without = {store.home()};  // a store inside the work tree is no source
  if (const auto recipe = program_recipe()) options.built = {recipe->build_directory};
  options.outputs = store.catalog().outputs(repository.work_tree().string(), this_program().key());
  const git::ShadowCommit commit = repository.commit_work_tree(options);
  if (commit.added.files > 0) {
    say(Level::result,
        fmt::format("committed for the first time: {} file{}, {}, the largest {} ({}); .gitignore "
                    "leaves files out",
                    commit.added.files, commit.added.files == 1 ? "" : "s",
                    store::print_bytes(commit.added.bytes), commit.added.largest,
                    store::print_bytes(commit.added.largest_bytes)));
  }
  if (commit.outputs.files > 0) {
    const bool one = commit.outputs.files == 1;
    say(Level::result,
        fmt::format("not committed: {} file{} that the program wrote in earlier runs, {}, the "
                    "largest {} ({}); git add keeps {}",
                    commit.outputs.files, one ? "" : "s", store::print_bytes(commit.outputs.bytes),
                    commit.outputs.largest, store::print_bytes(commit.outputs.largest_bytes),
                    one ? "it" : "one"));
  }
  tell_of_secrets(commit);
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(commit.left_out.size(), kNamed); ++i) {
    say(Level::warn, fmt::format("not committed: {}", commit.left_out[i]));
  }
  if (commit.left_out.size() > kNamed) {
    say(Level::warn, fmt::format("not committed: {} more files (add them to .gitignore, or to git)",
                                 commit.left_out.size() - kNamed));
  }
  say(Level::info,
      fmt::format("sources are commit {} of {}", commit.id.substr(0, 10), git::kShadowBranch));
  return commit.id;
}

/// The run of this process that is to be resumed, if there is one.
std::optional<store::Run> earlier_run_of(const store::Catalog& catalog,
                                         const store::RankLaunch& launch, const Ranks& ranks) {
  if (!launch.point) return std::nullopt;
  return earlier_run(catalog, launch.group, ranks.rank);
}

/// Counts the bytes that a snapshot would hold.
class Scales : public StateSink {
 public:
  void bytes(std::string, std::string_view content) override { total += content.size(); }
  void tensor(std::string, const TensorSource& source) override { total += source.bytes; }
  std::uint64_t total = 0;
};

}  // namespace

Recorder::Recorder(Flags flags)
    : Runtime(std::move(flags), nullptr), ranks_(ranks_here()), schedule_(flags_) {
  if (ranks_) set_notice_rank(ranks_->rank);
  std::optional<git::Repository> repository;
  if (flags_.git) {
    repository = git::Repository::discover(std::filesystem::current_path());
    if (!repository && flags_.resume == Resume::no) throw_no_repository();
  }
  store_ = store::Store::open(store::home_directory(flags_.home), store::OpenMode::create);
  store::Catalog& catalog = store_->catalog();
  std::filesystem::path place = place_of_work(repository);
  const std::string launched = ranks_ ? launch_text(*ranks_, place) : std::string();
  std::optional<store::RankLaunch> launch;  // of a rank that follows another
  std::optional<store::Run> resumed;
  std::optional<ForkPoint> forked;
  std::vector<ChangedArgument> changed;  // since the run that is forked
  store::NewRun run;
  if (!is_first()) {
    launch = await_first_rank(*store_, *ranks_, launched);
    resumed = earlier_run_of(catalog, *launch, *ranks_);
    run.experiment = catalog.run(launch->group).value_or(store::Run()).start.experiment;
  } else {
    flags_.name = experiment_of_fork(catalog, flags_);
    if (flags_.resume != Resume::no) resumed = run_to_resume(catalog, flags_, place.string());
    if (resumed && resumed->start.commit.empty()) flags_.git = false;  // as it was recorded
    if (!resumed && !flags_.from.empty()) forked = fork_point(*store_, flags_, ranks_.has_value());
    if (!flags_.git) repository.reset();
    if (flags_.git && !repository) throw_no_repository();
    place = place_of_work(repository);
    run.experiment = resumed ? resumed->start.experiment : experiment_name(flags_, catalog, place);
  }
  if (ranks_) {
    run.rank = {.group = launch ? launch->group : 0, .rank = ranks_->rank, .world = ranks_->world};
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
    lock_ = is_first() && ranks_ ? store::lock_first_rank(*store_, resumed->key)
                                 : store_->lock_run(resumed->key);
    if (!lock_) throw Busy(fmt::format("run {} is being recorded", resumed->key.substr(0, 8)));
    // The process before may have written something since the store was opened.
    if (!catalog.follow()) {
      throw Busy(fmt::format("run {} cannot be resumed while the catalog of {} cannot be written: "
                             "wait for the process that holds it, or make room, and try again",
                             resumed->key.substr(0, 8), store_->home().string()));
    }
    refuse_changed(*resumed, take_arguments(*resumed));
  } else {
    if (forked) changed = take_arguments(forked->parent);
    refuse_masked(flags_.kwargs);
    warn_of_masked(flags_.arguments);
  }
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
    } else if (ranks_) {
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
  if (ranks_) begin_in_group(launched, run.commit, point);
  writer_ = std::make_unique<store::CheckpointWriter>(*store_, run_.id,
                                                      store::WriterOptions{.priority = priority_});
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
  say(Level::result,
      fmt::format("recording {}{} as run {}{}; {}", run_.start.experiment,
                  flags_.name.empty() ? ", the name used last here," : "", run_.key.substr(0, 8),
                  forked_, how_to_follow()));
}

std::string Recorder::how_to_follow() const {
  return fmt::format("follow it with: flor plot {} --follow", run_.key.substr(0, 8));
}

Recorder::~Recorder() {
  hurry_.reset();
  background_.reset();  // its jobs use the members below
}

std::optional<std::string> Recorder::argument_text(std::string_view name, Fallback fallback) {
  if (const auto recorded = recorded_arguments_.find(std::string(name));
      recorded != recorded_arguments_.end()) {
    arguments_used_[recorded->first] = true;
    const store::Argument& argument = recorded->second;
    return argument.is_secret() ? secrets_.value(name, fallback) : argument.value;
  }
  const auto found = flags_.kwargs.find(std::string(name));
  if (found == flags_.kwargs.end()) {
    return secrets_.was_given(name) ? secrets_.value(name, fallback) : std::nullopt;
  }
  arguments_used_[found->first] = true;
  return found->second;
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
  if (is_called_away()) preempt(nullptr, fmt::format("the beginning of loop {}", frame.name));
  return {};
}

void Recorder::tell_of_unregistered() const {
  if (resumed_ || !is_first()) return;
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
          .writing = unwritten_ > 0,
          .degraded = !last_chance_ && !health_.may_try(StorageHealth::Part::content),
          .bytes = [this] { return state_bytes(); }};
}

bool Recorder::stores(const Frame& main) {
  if (const auto decided = schedule_.due()) return store::is_stored(*decided);
  const bool late = unwritten_ > 0;
  const bool stored = schedule_.stores(now(main));
  const bool would = *schedule_.decided() == store::StorageReason::late;
  // The codec makes no difference where the time goes into making a few bytes durable.
  constexpr std::uint64_t kSmall = std::uint64_t{4} << 20;
  if (stored || would) set_haste(escalation_.due(late, would || last_bytes_ < kSmall));
  return stored;
}

/// The size of the state; cheap enough to be asked before each iteration that will be stored.
std::uint64_t Recorder::state_bytes() {
  const auto began = Clock::now();
  Scales scales;
  try {
    registry_.save(scales, {});
  } catch (...) {  // said when the checkpoint is taken
  }
  const double seconds = seconds_since(began);
  schedule_.ledger().spent(seconds);
  frames_.front()->flor_seconds += seconds;
  return scales.total;
}

void Recorder::set_haste(Haste haste) {
  const Haste before = std::exchange(haste_, haste);
  if (haste == before) return;
  if (haste == Haste::none) {
    hurry_.reset();
  } else if (!hurry_) {
    hurry_.emplace(*background_);
  }
  writer_->set_effort(haste == Haste::raw    ? store::Effort::raw
                      : haste == Haste::fast ? store::Effort::fast
                                             : store::Effort::full);
  say(Level::debug, fmt::format("the writer is {}: {}", haste > before ? "late" : "in time again",
                                to_string(haste)));
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
  const bool preempted = is_called_away();
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
  if (schedule_.decided() == store::StorageReason::degraded) health_.miss(epochs_);
  schedule_.end_iteration(now(frame));
  if (board_) board_->set_spent(ranks_->rank, schedule_.is_spent());
  put_schedule();
  if (!progress_.add(iteration)) health_.miss(epochs_);
  ++frame.index;
  ++epochs_;
  const auto count = frame.count ? static_cast<std::int64_t>(*frame.count) : -1;
  if (const auto news =
          long_epochs_.completed(epochs_ - 1, frame.index, count, iteration.seconds)) {
    say(Level::result, *news);
  }
  // Epochs may be shorter than the time between two ticks.
  if (health_.lasts() && health_.may_try(StorageHealth::Part::rows)) {
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
  progress_.put(store::MainLoop{.ordinal = frame.ordinal,
                                .name = frame.component,
                                .first_epoch = frame.first_epoch,
                                .iterations = frame.index,
                                .ended = ended,
                                .broke = broke});
}

void Recorder::put_schedule() {
  store::Recording recording = schedule_.recording();
  recording.waits = escalation_.waits();
  recording.hurried = escalation_.hurried();
  recording.fast = escalation_.fast();
  recording.raw = escalation_.raw();
  progress_.put(schedule_.decisions(), recording);
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
  if (!progress_.add(execution)) health_.miss(epochs_);
}

void Recorder::tick() {
  if (!store_) return;
  write_waiting();
  schedule_.ledger().job_begins(background_cpu());
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
  hurry_.reset();
  schedule_.ledger().drain();
  const ExitStatus status = resumption_ ? ExitStatus::failed : ExitStatus::done;
  try {
    background_->post([this] {
      write_logged();
      schedule_.ledger().job_begins(background_cpu());
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
  if (board_) board_->close();
  return status;
}

void Recorder::end_run(bool failed, const std::string& message) noexcept {
  write_rest();
  try {
    write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
      if (!failed) catalog.drop_checkpoints(run_.id, steps_);  // the run is not resumed any more
      catalog.finish_run(run_.id, now_us(), failed, message, rest);
    });
    end_is_written_ = true;
    if (!failed) delete_others(/*at_end=*/true);  // the last one ranks like the others now
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
  for (const auto& [name, value] : flags_.kwargs) {
    if (arguments_used_.contains(name)) continue;
    say(Level::warn,
        fmt::format("--kwargs {}={}: the program {} an argument '{}'", name,
                    store::masked_value(name, value), when, name));
  }
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
  std::string missing = store::print_gaps(health_.gaps());
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

std::unique_ptr<Runtime> make_recorder(Flags flags) {
  return std::make_unique<Recorder>(std::move(flags));
}

}  // namespace flor::detail
