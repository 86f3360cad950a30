#include "recorder.h"

#include "git/shadow.h"
#include "notice.h"
#include "preemption.h"
#include "process.h"
#include "run_choice.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace flor::detail {
namespace {

/// Where "the name last used here" is looked up.
std::filesystem::path place_of_work(const std::optional<git::Repository>& repository) {
  return repository ? repository->work_tree() : std::filesystem::current_path();
}

std::string experiment_name(const Flags& flags, const store::Catalog& catalog,
                            const std::filesystem::path& place) {
  if (!flags.name.empty()) return flags.name;
  if (auto name = catalog.last_name(place.string())) return *name;
  throw UsageError(
      fmt::format("--flor: no experiment was recorded in {} yet, so it needs a name: --flor NAME",
                  place.string()));
}

/// Of a main loop. Such a checkpoint has no backward pass before it.
bool is_entry(const store::CheckpointKey& key) {
  return key.kind == store::CheckpointKind::boundary && key.iteration == 0;
}

std::string commit_message(const store::NewRun& run) {
  std::string command;
  for (const std::string& word : run.command) command += (command.empty() ? "" : " ") + word;
  return fmt::format("flor: {}\n\nFlor-Experiment: {}\nFlor-Command: {}\n", run.experiment,
                     run.experiment, command);
}

std::string commit_sources(git::Repository& repository, const store::NewRun& run,
                           const std::filesystem::path& home) {
  git::CommitOptions options;
  options.message = commit_message(run);
  options.without = {home};  // a store inside the work tree is no source
  const git::ShadowCommit commit = repository.commit_work_tree(options);
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

/// Counts what a snapshot would hold.
class Scales : public StateSink {
 public:
  void bytes(std::string, std::string_view content) override { total += content.size(); }
  void tensor(std::string, const TensorSource& source) override { total += source.bytes; }
  std::uint64_t total = 0;
};

}  // namespace

Recorder::Recorder(Flags flags) : Runtime(std::move(flags), nullptr), schedule_(flags_) {
  std::optional<git::Repository> repository;
  if (flags_.git) {
    repository = git::Repository::discover(std::filesystem::current_path());
    if (!repository) {
      throw Error(
          fmt::format("{} is not in a git repository, so the sources of this run cannot be kept: "
                      "run `git init` "
                      "first, or pass --flor_no_git",
                      std::filesystem::current_path().string()));
    }
  }
  store_ = store::Store::open(store::home_directory(flags_.home), store::OpenMode::create);
  store::Catalog& catalog = store_->catalog();
  const std::filesystem::path place = place_of_work(repository);
  std::optional<store::Run> resumed;
  if (flags_.resume != Resume::no) resumed = run_to_resume(catalog, flags_, place.string());

  store::NewRun run;
  run.experiment = resumed ? resumed->start.experiment : experiment_name(flags_, catalog, place);
  run.started_us = now_us();
  run.repository = place.string();
  run.directory = std::filesystem::current_path().string();
  run.program = executable().string();
  run.program_digest = store::file_digest(run.program);
  run.command = flags_.command;
  run.environment = environment();
  if (resumed) {
    lock_ = store_->lock_run(resumed->key);
    if (!lock_) throw Busy(fmt::format("run {} is being recorded", resumed->key.substr(0, 8)));
    take_arguments(*resumed);
  }
  if (repository) run.commit = commit_sources(*repository, run, store_->home());

  if (resumed) {
    go_on(std::move(*resumed), run.commit);
  } else {
    run_ = catalog.add_run(run);
    lock_ = store_->lock_run(run_.key);
    if (!lock_) throw Busy(fmt::format("the lock of run {} is held by another process", run_.key));
  }
  catalog.remember_name(place.string(), run.experiment);
  writer_ = std::make_unique<store::CheckpointWriter>(*store_, run_.id,
                                                      store::WriterOptions{.priority = priority_});
  if (const auto rate = catalog.restore_rate()) schedule_.set_restore_rate(*rate);
  start_journal();
  schedule_.started(seconds_since(began_));
  watch_signals();
}

Recorder::~Recorder() {
  hurry_.reset();
  background_.reset();  // its jobs use the members below
}

std::optional<std::string> Recorder::argument_text(std::string_view name) {
  if (const auto recorded = recorded_arguments_.find(std::string(name));
      recorded != recorded_arguments_.end()) {
    arguments_used_[recorded->first] = true;
    return recorded->second.value;
  }
  const auto found = flags_.kwargs.find(std::string(name));
  if (found == flags_.kwargs.end()) return std::nullopt;
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
  stored_boundary_ = -1;
  {
    const std::lock_guard lock(since_entry_mutex_);
    since_entry_.clear();
  }
  in_loop_ = true;
  if (resumption_) {
    if (const auto start = resumption_->begin_main(frame, random_access)) {
      return begin_resumed(frame, *start);
    }
  }
  take_forced({.main_loop = frame.ordinal, .iteration = 0, .loop = {}});
  stored_boundary_ = 0;
  begin_stretch({}, Edge::iteration);
  put_main_loop(frame, false, false);
  if (pending_signal != 0) preempt(nullptr, fmt::format("the beginning of loop {}", frame.name));
  return {};
}

Schedule::Now Recorder::now(const Frame& main) {
  return {.main_loop = main.ordinal,
          .iteration = main.index,
          .count = main.count,
          .iteration_seconds = seconds_since(main.iteration_began),
          .flor_seconds = main.flor_seconds,
          .writing = unwritten_ > 0,
          .degraded = degraded_,
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

/// Small and rare enough to be asked before each iteration that will be stored.
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
  return true;
}

LoopScope::Move Recorder::leave_main(Frame& frame) {
  if (resumption_ && leave_resumed(frame)) return {};
  const bool preempted = pending_signal != 0;
  const bool stored = stores(frame);
  if (!stored && (preempted || is_due())) {
    schedule_.force(now(frame), store::StorageReason::forced);
  }
  if (stores(frame)) {
    take_checkpoint({.main_loop = frame.ordinal, .iteration = frame.index + 1, .loop = {}}, {},
                    schedule_.batch());
    stored_boundary_ = frame.index + 1;
  }
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
  schedule_.end_iteration(now(frame));
  put_schedule();
  ++frame.index;
  ++epochs_;
  const std::lock_guard lock(progress_mutex_);
  progress_.iterations.push_back(iteration);
}

void Recorder::end_main(Frame& frame, LoopEnd how) {
  in_loop_ = false;
  if (how == LoopEnd::failed) return fence();
  if (resumption_) {
    end_resumed(frame, how);
    if (!frame.visited) return;
  }
  // The last state is always kept, whatever the rule for the others.
  const std::int64_t complete = frame.index + (how == LoopEnd::broke ? 1 : 0);
  const bool late = stored_boundary_ != complete;
  if (late) take_forced({.main_loop = frame.ordinal, .iteration = complete, .loop = {}});
  // An iteration that is left by break or return has run as far as it ever will. That it is the
  // last one is written down with it: a run that is resumed must not go on with another.
  if (how == LoopEnd::broke) complete_iteration(frame);
  if (late) {
    schedule_.ended_with_last_iteration();
    put_schedule();
  }
  fence();  // the last state is to be kept, and what follows is not seen again
  put_main_loop(frame, true, how == LoopEnd::broke);
}

void Recorder::put_main_loop(const Frame& frame, bool ended, bool broke) {
  const store::MainLoop loop{.ordinal = frame.ordinal,
                             .name = frame.component,
                             .first_epoch = frame.first_epoch,
                             .iterations = frame.index,
                             .ended = ended,
                             .broke = broke};
  const std::lock_guard lock(progress_mutex_);
  // Only the latest word on a loop counts.
  if (!progress_.loops.empty() && progress_.loops.back().ordinal == loop.ordinal) {
    progress_.loops.back() = loop;
  } else {
    progress_.loops.push_back(loop);
  }
}

void Recorder::put_schedule() {
  std::vector<store::StorageDecision> decisions = schedule_.decisions();
  const std::lock_guard lock(progress_mutex_);
  for (store::StorageDecision& decision : decisions) {
    auto& known = progress_.decisions;
    const bool grown = !known.empty() && known.back().main_loop == decision.main_loop &&
                       known.back().first == decision.first;
    if (grown) {
      known.back() = decision;
    } else {
      known.push_back(decision);
    }
  }
  progress_.recording = schedule_.recording();
  progress_.recording->waits = escalation_.waits();
  progress_.recording->hurried = escalation_.hurried();
  progress_.recording->fast = escalation_.fast();
  progress_.recording->raw = escalation_.raw();
}

void Recorder::flush_progress() {
  store::Progress progress;
  {
    const std::lock_guard lock(progress_mutex_);
    std::swap(progress, progress_);
  }
  if (progress.empty()) return;
  try {
    store_->catalog().add_progress(run_.id, progress);
  } catch (const std::exception& error) {
    degrade(error.what());
  }
}

LoopScope::Start Recorder::begin_nested(Frame& frame) {
  if (resumption_) {
    if (const auto start = resumption_->begin_nested(main_frame(), frame)) {
      frame.arriving = start->skip > 0;
      if (frame.arriving) suppress(true);
      return *start;
    }
  }
  // A replay can begin with this iteration only if the boundary before it is stored.
  const bool possible_start = stored_boundary_ == main_frame().index;
  if (possible_start && !frame.settings.attached.empty()) take_entry(frame);
  begin_stretch(frame.component, Edge::body);
  return {};
}

void Recorder::take_entry(const Frame& nested) {
  if (degraded_) return;
  const store::CheckpointKey key{.kind = store::CheckpointKind::loop_end,
                                 .main_loop = main_frame().ordinal,
                                 .iteration = main_frame().index,
                                 .loop = entry_name(nested.component)};
  const auto began = Clock::now();
  try {
    remember(key);
    background_->post([this, key, taken = snapshotter_.take_attached(nested.settings.attached)] {
      if (degraded_) return;
      try {
        for (const auto& pending : taken.pending) pending->wait();
        if (!entry_writer_) {
          entry_writer_ = std::make_unique<store::CheckpointWriter>(
              *store_, run_.id, store::WriterOptions{.threads = 1, .priority = priority_});
        }
        stored_bytes_ += entry_writer_->write(key, taken.snapshot).stored_bytes;
      } catch (const std::exception& error) {
        degrade(error.what());
      }
    });
  } catch (const std::exception& error) {
    degrade(error.what());
  } catch (...) {
    degrade("saving an attached local threw an exception of unknown type");
  }
  const double seconds = seconds_since(began);
  schedule_.ledger().spent(seconds);
  frames_.front()->flor_seconds += seconds;
}

void Recorder::end_nested(Frame& frame, LoopEnd how) {
  if (how == LoopEnd::failed) return;
  const Frame& main = main_frame();
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
  const std::lock_guard lock(progress_mutex_);
  progress_.executions.push_back(execution);
}

void Recorder::take_forced(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                           std::optional<store::SnapshotItem> extra) {
  const auto batch = schedule_.open_single();
  take_checkpoint(key, attached, batch, std::move(extra));
  schedule_.ledger().close(batch);
}

void Recorder::take_checkpoint(const store::CheckpointKey& key, const std::vector<Slot>& attached,
                               const std::shared_ptr<Batch>& batch,
                               std::optional<store::SnapshotItem> extra) {
  if (key.kind != store::CheckpointKind::loop_end) {
    steps_since_ = 0;
    kept_at_ = Clock::now();
  }
  if (degraded_) return;
  const auto began = Clock::now();
  std::optional<TakenSnapshot> taken;
  try {
    // Inside an iteration the next update is near, and no stretch begins that would wait for it.
    const bool overlap = overlap_.allowed() && !extra;
    taken = snapshotter_.take(registry_, attached, overlap);
    prepare_buffers(*taken);
    if (extra) taken->snapshot.items.push_back(*std::move(extra));
  } catch (const std::exception& error) {
    taken.reset();
    degrade(error.what());
  } catch (...) {  // whatever a program's own `save` throws
    taken.reset();
    degrade("saving a registered object threw an exception of unknown type");
  }
  const double seconds = seconds_since(began);
  frames_.front()->flor_seconds += seconds;
  if (!taken) return;
  last_bytes_ = taken->snapshot.raw_bytes();
  schedule_.ledger().taken(*batch, seconds, last_bytes_);
  ++unwritten_;
  try {
    overlap_.add(std::move(*taken), [this, key, batch, number = remember(key)](auto complete) {
      hand_to_writer(number, key, batch, std::move(complete));
    });
  } catch (const std::exception& error) {
    degrade(error.what());
  }
}

void Recorder::hand_to_writer(std::uint64_t number, const store::CheckpointKey& key,
                              const std::shared_ptr<Batch>& batch,
                              std::optional<TakenSnapshot> taken) {
  {
    const std::lock_guard lock(since_entry_mutex_);
    if (number <= invalidated_ && !is_entry(key)) taken.reset();
  }
  background_->post([this, key, batch, taken = std::move(taken)] {
    schedule_.ledger().job_begins(priority_->cpu_seconds());
    if (taken) write_checkpoint(key, *taken);
    schedule_.ledger().job_ends(priority_->cpu_seconds(), batch);
    --unwritten_;
  });
}

void Recorder::add_flor_time(Clock::time_point began) {
  const double seconds = seconds_since(began);
  schedule_.ledger().spent(seconds);
  if (!frames_.empty()) frames_.front()->flor_seconds += seconds;
}

void Recorder::begin_stretch(std::string_view nested, Edge edge) {
  if (!overlap_.active()) return;
  const auto began = Clock::now();
  try {
    overlap_.edge(main_frame().component, nested, edge);
  } catch (const std::exception& error) {
    degrade(error.what());
  }
  add_flor_time(began);
}

void Recorder::fence() noexcept {
  const auto began = Clock::now();
  try {
    overlap_.fence();
  } catch (const std::exception& error) {
    degrade(error.what());
  }
  if (own_thread()) add_flor_time(began);
}

void Recorder::settle() noexcept {
  try {
    overlap_.settle();
  } catch (const std::exception& error) {
    degrade(error.what());
  }
}

void Recorder::stop_overlapping(std::string_view why) noexcept {
  try {
    say(Level::error,
        fmt::format("a checkpoint of run {} is dropped: {}; from now on the training waits for the "
                    "copies (see docs/overlap.md)",
                    run_.key.substr(0, 8), why));
  } catch (const std::exception&) {  // it was to be said, no more
  }
}

/// The first snapshots fill fresh memory; what the next ones need is made ready meanwhile.
void Recorder::prepare_buffers(const TakenSnapshot& taken) {
  if (prepared_ >= 2) return;
  ++prepared_;
  std::map<std::size_t, std::size_t> sizes;
  constexpr std::size_t kLarge = std::size_t{64} << 10;
  for (const auto& [item, content] : taken.snapshot.items) {
    if (item.bytes >= kLarge) ++sizes[item.bytes];
  }
  background_->post([this, sizes] {
    schedule_.ledger().job_begins(priority_->cpu_seconds());
    try {
      for (const auto& [bytes, count] : sizes) snapshotter_.buffers().prepare(bytes, 2 * count);
    } catch (const std::exception&) {  // it was only to save time
    }
    schedule_.ledger().setup_ends(priority_->cpu_seconds());
  });
}

void Recorder::write_checkpoint(const store::CheckpointKey& key, const TakenSnapshot& taken) {
  if (degraded_) return;
  try {
    for (const auto& pending : taken.pending) pending->wait();
    flush_journal();        // what was logged before a checkpoint is durable when the checkpoint is
    if (degraded_) return;  // and where it is not, no run may be resumed behind it
    store::CheckpointWriter* writer = writer_.get();
    if (key.kind == store::CheckpointKind::step) {
      flush_progress();  // the nested loops that ended before it
      if (!step_writer_) step_writer_ = std::make_unique<store::CheckpointWriter>(*store_, run_.id);
      writer = step_writer_.get();
    }
    const store::CheckpointInfo info = writer->write(key, taken.snapshot);
    checkpoints_ += 1;
    raw_bytes_ += info.raw_bytes;
    stored_bytes_ += info.stored_bytes;
    flush_progress();
    say(Level::info,
        fmt::format("stored {} {} of main loop {}{}{} ({} of {})",
                    key.kind == store::CheckpointKind::boundary ? "boundary" : "iteration",
                    key.iteration, key.main_loop,
                    key.loop.empty()                          ? ""
                    : key.kind == store::CheckpointKind::step ? ", step "
                                                              : ", end of ",
                    key.loop, print_bytes(info.stored_bytes), print_bytes(info.raw_bytes)));
    if (key.kind != store::CheckpointKind::loop_end) forget_step(key);
  } catch (const std::exception& error) {
    degrade(error.what());
  }
}

void Recorder::update(std::function<void(store::Catalog&)> change) {
  background_->post([this, change = std::move(change)] {
    try {
      change(store_->catalog());
    } catch (const std::exception& error) {
      degrade(error.what());
    }
  });
}

void Recorder::keep(LogBatch batch) {
  try {
    std::vector<store::Value> values;
    values.reserve(batch.records.size());
    for_each_value(
        batch, ordinals_,
        [this](const LoggedContent& logged) {
          return writer_->write_object(logged.item, logged.content);
        },
        [&](const LogRecord&, store::Value value) { values.push_back(std::move(value)); });
    store_->catalog().add_values(run_.id, values);
  } catch (const std::exception& error) {
    if (values_lost_.exchange(true)) return;
    say(Level::error,
        fmt::format("logged values are being lost: {}; the training goes on", error.what()));
    degrade("logged values were lost");
  }
}

void Recorder::degrade(std::string_view why) noexcept {
  if (degraded_.exchange(true)) return;
  try {
    degraded_why_ = why;
    say(Level::error, fmt::format("NO FURTHER CHECKPOINTS of run {}: {}; the training goes on, and "
                                  "replay will re-execute what is missing",
                                  run_.key.substr(0, 8), why));
    store_->catalog().set_degraded(run_.id, why);
  } catch (const std::exception&) {  // the disk may be full for the catalog, too
  }
}

void Recorder::invalidate_checkpoints(std::string_view why) noexcept {
  try {
    std::vector<store::CheckpointKey> keys;
    {
      const std::lock_guard lock(since_entry_mutex_);
      keys.swap(since_entry_);
      invalidated_ = remembered_;
    }
    std::erase_if(keys, is_entry);
    if (keys.empty()) return;
    say(Level::warn, fmt::format("{}; {} checkpoints so far are dropped", why, keys.size()));
    update([run = run_.id, keys](store::Catalog& catalog) { catalog.drop_checkpoints(run, keys); });
  } catch (const std::exception& error) {
    degrade(error.what());
  }
}

ExitStatus Recorder::finish(bool failed, std::string_view message) noexcept {
  in_loop_ = true;  // a signal is too late now
  fence();
  if (resumption_ && !failed) {
    failed = true;
    message = "the program ended before it came to the point where it was to go on";
    say(Level::error, message);
  }
  hurry_.reset();
  schedule_.ledger().drain();
  try {
    background_->post([this] {
      flush_journal();
      schedule_.ledger().job_begins(priority_->cpu_seconds());
    });
    background_->drain();
    put_schedule();
    flush_progress();
    // Again, since a disk that was full then may have room for it now.
    if (degraded_) store_->catalog().set_degraded(run_.id, degraded_why_);
  } catch (const std::exception& error) {
    degrade(error.what());
  }
  try {
    store_->catalog().finish_run(run_.id, now_us(), failed, message);
    report();
  } catch (const std::exception& error) {
    say(Level::error,
        fmt::format("the end of run {} could not be recorded: {}", run_.key, error.what()));
  }
  unwatch_signals();
  return resumption_ ? ExitStatus::failed : ExitStatus::done;
}

/// What recording cost: of what the tolerance is for, and of what is stored in any case.
std::string Recorder::cost_text() const {
  const store::Recording recording = schedule_.recording();
  std::string share;
  constexpr double kTooShort = 0.1;  // for a percentage to mean anything
  if (recording.computed >= kTooShort) {
    share = fmt::format(" ({:.2f} %", 100 * recording.cost / recording.computed);
    if (recording.every == 0) share += fmt::format(", at most {:.3g} %", 100 * recording.epsilon);
    share += ")";
  }
  return fmt::format("recording took {} of {}{}, forced checkpoints {}, start-up {}",
                     print_seconds(recording.cost), print_seconds(recording.computed), share,
                     print_seconds(recording.forced), print_seconds(recording.startup));
}

void Recorder::report() const {
  for (const auto& [name, value] : flags_.kwargs) {
    if (!arguments_used_.contains(name)) {
      say(Level::warn, fmt::format("--kwargs {}={}: the program never asked for an argument '{}'",
                                   name, value, name));
    }
  }
  say(Level::result,
      fmt::format("recorded {} as run {}: {} epochs, {} checkpoints, {} stored of {}; {}{}",
                  run_.start.experiment, run_.key.substr(0, 8), epochs_, checkpoints_.load(),
                  print_bytes(stored_bytes_), print_bytes(raw_bytes_), cost_text(),
                  degraded_ ? "; CHECKPOINTS ARE MISSING" : ""));
}

std::uint64_t Recorder::remember(const store::CheckpointKey& key) {
  const std::lock_guard lock(since_entry_mutex_);
  since_entry_.push_back(key);
  return ++remembered_;
}

void Recorder::abandon(std::string_view why) noexcept {
  if (main_loops_ > 0 || resumed_) {  // it is a run, with all that was recorded until the error
    finish(true, why);
    return;
  }
  try {
    background_->drain();
    store_->catalog().drop_run(run_.id);
  } catch (const std::exception& error) {
    say(Level::error, error.what());
  }
}

void Recorder::forget_in_child() noexcept {
  unwatch_signals();
  if (lock_) lock_->forget_in_child();
}

std::unique_ptr<Runtime> make_recorder(Flags flags) {
  return std::make_unique<Recorder>(std::move(flags));
}

}  // namespace flor::detail
