// The recorder's part in runs that end early: it resumes a run that was interrupted, and leaves a
// checkpoint in the middle of an epoch when it is asked to end.
#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "git/shadow.h"
#include "index/catalog/resume_point.h"
#include "maintain/shared_view.h"
#include "protocol/value_text.h"
#include "record/recorder.h"
#include "resume/unregistered.h"
#include "resume/changes.h"
#include "session/preemption.h"
#include "session/run_choice.h"

#include <flor/adapter.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace flor::detail {
namespace {

/// Two numbers, as kElapsedItem has them.
store::SnapshotItem elapsed_item(const Elapsed& elapsed) {
  const std::shared_ptr<std::byte[]> bytes(new std::byte[sizeof elapsed]);
  std::memcpy(bytes.get(), &elapsed, sizeof elapsed);
  return {{.name = std::string(kElapsedItem),
           .type = store::ElementType::bytes,
           .sizes = {},
           .bytes = sizeof elapsed},
          store::Content(bytes, bytes.get())};
}

std::chrono::steady_clock::duration duration_of(double in_seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(in_seconds));
}

void warn_of_lost_locals(const Rehearsal& rehearsal) {
  for (const std::string& loop : rehearsal.unknown) {
    say(Level::warn,
        fmt::format("the locals attached to {} were not stored: if they outlive an iteration, "
                    "register them with flor::checkpoints",
                    loop));
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// Continuing a run.

bool Recorder::may_go_on_inside(std::int64_t run) const {
  const store::ResumePoint latest = store::find_resume_point(store_->catalog(), run);
  if (latest.loop.empty()) return true;
  std::vector<std::string> main_loops;
  for (const store::MainLoop& loop : store_->catalog().main_loops(run)) {
    main_loops.push_back(loop.name);
  }
  const std::string lost = print_lost_inside(main_loops);
  if (lost.empty()) return true;
  say(Level::warn, fmt::format("epoch {} is computed again from its beginning, since what is not "
                               "registered would be lost inside it: {}; flor::with keeps it",
                               latest.epoch, lost));
  return false;
}

void Recorder::go_on(store::Run run, const std::string& commit, const store::ResumePoint* of_all) {
  store::Catalog& catalog = store_->catalog();
  use_ = store_->use_run(run.key);
  auto [point, rehearsal] = of_all ? plan_resume_at(*store_, run.id, *of_all)
                                   : plan_resume(*store_, run.id, may_go_on_inside(run.id));
  bring_back_carried(run, point, rehearsal, "resumed");
  const bool exact = !warn_of_changes(run, commit);
  run_.id = run.id;
  way_.know(catalog, run_.id, point);
  warn_of_lost_locals(rehearsal);
  put_back_environment(run);
  catalog.resume_run(run.id, {.resumed_us = now_us(),
                              .point = point,
                              .commit = commit,
                              .program_digest = store::file_digest(program_file()),
                              .command = flags_.command});
  rows_.health().set_gaps(catalog.gaps(run.id));
  resumed_ = true;
  std::vector<store::CheckpointKey> steps;
  for (const store::CheckpointInfo& info : catalog.checkpoints(run.id)) {
    if (info.key.kind == store::CheckpointKind::step) steps.push_back(info.key);
  }
  checkpoints_.know_steps(std::move(steps));
  run_ = catalog.run(run.id).value_or(run);
  saved_.know(recorded_saves());
  say(Level::result,
      fmt::format("resuming run {} of {} at {}; {}", run_.key.substr(0, 8), run_.start.experiment,
                  store::print_point(point), how_to_follow()));
  if (!point.boundary && point.main_loop == 0) return use_.reset();  // nothing is passed by
  CheckPlan check = plan_check(*store_, run_, point, flags_.check_seconds);
  if (!flags_.check) check = {.stretch = {}, .why_not = "--flor_check none"};
  const auto fork = catalog.fork(run.id);
  logs_outside_ = fork && point.boundary && point.loop.empty() &&
                  point.main_loop == fork->main_loop && point.iteration == fork->iteration;
  lead_to(std::move(point), std::move(rehearsal), std::move(check), exact);
  if (!logs_outside_) suppress(true);
}

void Recorder::lead_to(store::ResumePoint point, Rehearsal rehearsal, CheckPlan check, bool exact) {
  if (check.iteration < 0) say(Level::result, "not checked: " + check.why_not);
  resumption_ = std::make_unique<Resumption>(*store_, run_, std::move(point), std::move(rehearsal),
                                             std::move(check), exact, registry_);
}

void Recorder::begin_fork(const ForkPoint& from, const store::NewRun& run,
                          const std::optional<store::RunBuild>& build,
                          const std::vector<ChangedArgument>& changed) {
  store::Catalog& catalog = store_->catalog();
  const auto parent_in_use = store_->use_run(from.parent.key);
  Rehearsal visits{.first = from.point.iteration, .unknown = {}};
  bring_back_carried(from.parent, from.point, visits, "forked");
  std::vector<std::string> names;
  for (const ChangedArgument& argument : changed) names.push_back(argument.name);
  const std::string others = fork_changes(catalog, from, flags_, run.commit, changed);
  const bool exact = others.empty() && has_one_program(catalog, from.parent);
  run_ = catalog.fork_run({.parent = from.parent.key,
                           .main_loop = from.point.main_loop,
                           .iteration = from.point.iteration,
                           .epoch = from.point.epoch,
                           .exact = exact},
                          run, build, names);
  use_ = store_->use_run(run_.key);
  auto [point, rehearsal] = plan_resume_at(*store_, run_.id, from.point);
  rehearsal.first = std::min(rehearsal.first, visits.first);
  warn_of_lost_locals(rehearsal);
  rows_.health().set_gaps(catalog.gaps(run_.id));
  saved_.know(recorded_saves());
  forked_ = fmt::format(" from the end of epoch {} of run {}{}{}", from.point.epoch - 1,
                        from.parent.key.substr(0, 8), others.empty() ? "" : ", with ", others);
  CheckPlan check;
  if (!flags_.check) {
    check.why_not = "--flor_check none";
  } else if (!others.empty()) {
    check.why_not =
        fmt::format("it does not compute what run {} computed", from.parent.key.substr(0, 8));
  } else if (!exact) {
    check.why_not = fmt::format("run {} itself was forked or resumed with changes",
                                from.parent.key.substr(0, 8));
  } else {
    check = plan_check(*store_, run_, point, flags_.check_seconds, Copied::checked);
  }
  logs_outside_ = true;
  lead_to(std::move(point), std::move(rehearsal), std::move(check), exact);
}

/// Variables of a hosted program that no checkpoint holds, as its sources tell.
void Recorder::bring_back_carried(const store::Run& run, const store::ResumePoint& point,
                                  Rehearsal& rehearsal, std::string_view how) const {
  const HostedProgram* hosted = hosted_program();
  if (!hosted || !hosted->carried || !flags_.check || point.iteration == 0) return;
  const auto loops = store_->catalog().main_loops(run.id);
  const auto& loop = loops.at(static_cast<std::size_t>(point.main_loop)).name;
  CarriedVariables carried = hosted->carried(loop);
  const auto checkpoints = store_->catalog().checkpoints(run.id);
  const bool has_beginning = std::ranges::any_of(checkpoints, [&](const auto& checkpoint) {
    return checkpoint.key ==
           store::CheckpointKey{.main_loop = point.main_loop, .iteration = 0, .loop = {}};
  });
  if (carried.lost.empty() && !has_beginning) carried.lost = std::exchange(carried.visited, {});
  if (!carried.lost.empty()) {
    throw Error(
        fmt::format(
            "not {}: {} carries {} from one iteration to later code, and no checkpoint of run "
            "{} holds it; attach it, flor::loop(..., attached=\"...\"), and begin a new run, "
            "or go on without it: the same command with --flor_check none",
            how, loop, carried.lost, run.key.substr(0, 8)),
        ExitStatus::differs);
  }
  if (carried.visited.empty() || rehearsal.first == 0) return;
  rehearsal.first = 0;
  say(Level::warn,
      fmt::format("{} carries {} from one iteration to later code, and no checkpoint holds it: "
                  "the epochs before are visited, with their nested loops loaded",
                  loop, carried.visited));
}

bool Recorder::warn_of_changes(const store::Run& run, const std::string& commit) const {
  const std::string key = run.key.substr(0, 8);
  const auto before = store_->catalog().resumptions(run.id);
  const std::string& last = before.empty() ? run.start.commit : before.back().commit;
  const bool other = commit != last && has_other_sources(store_->catalog(), run, last, commit);
  if (!group_.is_first()) return other;
  if (other) {
    say(Level::warn,
        fmt::format("the sources changed since run {} was interrupted: it goes on with "
                    "commit {} (it had {})",
                    key, commit.empty() ? "none" : commit.substr(0, 10),
                    last.empty() ? "none" : last.substr(0, 10)));
  }
  const store::RecordedCommand command = flags_.command;
  if (own_arguments(command.words()) != own_arguments(run.start.command.words())) {
    say(Level::warn,
        fmt::format("run {} was started with other arguments: {}", key, run.start.command.text()));
  }
  const auto now = environment();
  const auto& then = run.start.environment;
  for (const ChangedFact& fact : changed_facts(then, now)) {
    say(Level::warn, fmt::format("{} was {} when run {} began and is {} now: the results may not "
                                 "be those of an uninterrupted run",
                                 fact.name, fact.before, key, fact.after));
  }
  return other;
}

LoopScope::Start Recorder::begin_resumed(Frame& frame, const LoopScope::Start& start) {
  suppress(true);  // a fork logs outside of loops, as any new run does
  const store::ResumePoint& point = resumption_->point();
  if (start.visit) {
    taken_boundary_ = point.iteration;
    epochs_ += point.iteration;
  } else {
    epochs_ += frame.index;
  }
  return start;
}

void Recorder::arrive(Frame& frame, bool gone) {
  if (resumption_) resumption_->arrive(frame, gone);
}

void Recorder::enter_resumed(Frame& frame) {
  rehearsing_ = resumption_->rehearses(frame);
  if (rehearsing_) {
    if (resumption_->checks_all_of(frame)) begin_check();
    return;
  }
  if (resumption_->point().loop.empty()) return reached();
  // The code before the nested loop is executed again, and logs again.
  suppress(false);
  way_.enter();
  frame.iteration_began -= duration_of(resumption_->elapsed().iteration);
}

/// Reports a changed local that no checkpoint keeps: a nested loop before the point had changed it.
void Recorder::end_way() {
  background_->post([this] { flush_journal(); });
  background_->drain();
  way_.leave();
  const std::string& difference = way_.difference();
  if (!difference.empty() && !flags_.check) {
    say(Level::warn, "what leads to the step is not what was recorded, which stays: " + difference);
    way_.forget();
  }
  if (difference.empty()) return way_.forget();
  const std::int64_t epoch = resumption_->point().epoch;
  background_->post([this, epoch] {
    const std::string message = fmt::format(
        "not resumed inside epoch {}, since what leads there is not what was recorded: {}", epoch,
        way_.difference());
    write_rest();
    try {
      rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
        catalog.drop_checkpoints(run_.id, checkpoints_.steps());
        catalog.interrupt_run(run_.id, message, rest);
      });
      say(Level::error,
          fmt::format("{}; the same command goes on at the beginning of epoch {}; flor::with keeps "
                      "what a nested loop leaves behind",
                      message, epoch));
    } catch (const std::exception& error) {
      say(Level::error, fmt::format("{}; that could not be recorded: {}", message, error.what()));
    }
    group_.close();
    close_store();
    end_process(ExitStatus::preempted);
  });
  background_->drain();
}

/// Flushes earlier values first: they are not checked, but later ones are numbered after them.
void Recorder::begin_check() {
  background_->post([this] { flush_journal(); });
  background_->drain();
  suppress(false);
  checking_ = true;
  resumption_->check().begin();
}

std::optional<LoopScope::Move> Recorder::leave_resumed(Frame& frame) {
  if (resumption_->rehearses(frame)) {
    const bool checked = resumption_->checks_at_end(frame);
    const LoopScope::Move move = resumption_->leave_rehearsed(frame);
    if (checked) conclude_check();
    return move;
  }
  throw Error(fmt::format(
      "the run was interrupted in loop {}, to which the program does not come any more: "
      "resume with the program that was interrupted",
      resumption_->point().loop));
}

void Recorder::check_values(const LogBatch& batch) {
  ResumeCheck& check = resumption_->check();
  for_each_value(
      batch, check.ordinals(),
      [&](const LoggedContent& logged) {
        std::string reference = store::item_digest(logged.content).hex();
        check.values().know(reference, logged.item, logged.content);
        return reference;
      },
      [&](const LogRecord&, const store::Value& value) { check.keep(value); });
}

void Recorder::conclude_check() {
  suppress(true);
  background_->post([this] { flush_journal(); });
  background_->drain();
  checking_ = false;
  ResumeCheck& check = resumption_->check();
  check.conclude();
  if (check.passed()) return say(Level::result, "checked: " + check.outcome());
  const std::string key = run_.key.substr(0, 8);
  const std::string suspects = print_suspects();
  const std::string message = fmt::format(
      "not resumed: epoch {} computed again is not what was recorded: {}{}", check.epoch(),
      check.difference(), suspects.empty() ? "" : "; most likely because of " + suspects);
  say(Level::error,
      fmt::format("{}; register with flor::checkpoints what the loop changes and begin a new run, "
                  "or go on with run {} all the same: --flor_resume --flor_check none",
                  message, key));
  rows_.write([&](store::Catalog& catalog) {
    catalog.interrupt_run(run_.id, message);
    return true;
  });
  group_.close();
  resumption_.reset();
  background_->post([this] { close_store(); });
  background_->drain();
  end_process(ExitStatus::differs);
}

void Recorder::end_resumed(const Frame& frame, LoopEnd how) {
  const store::ResumePoint& point = resumption_->point();
  if (!frame.visited) {
    if (!point.boundary && frame.ordinal + 1 == point.main_loop) reached();
    if (logs_outside_) suppress(false);
    return;
  }
  if (how == LoopEnd::broke || frame.index < point.iteration) {
    throw Error(
        fmt::format("loop {} ended before epoch {}, in which the run was interrupted: resume with "
                    "the program that was interrupted",
                    frame.component, point.epoch));
  }
  reached();  // nothing was left to do in it
}

void Recorder::reach(Frame& frame) {
  if (way_.entered()) end_way();
  if (resumption_->checks_stretch()) return begin_check();
  frame.opened_at -= duration_of(resumption_->elapsed().loop);
  reached();
}

/// The steps to the next iteration.
std::int64_t Recorder::leave_checked(Frame& frame) {
  if (!resumption_->leave_checked(main_frame(), frame)) return 1;
  conclude_check();
  const std::int64_t step = resumption_->point().step;
  // The time of the check is not recorded.
  frame.opened_at = Clock::now();
  frames_.front()->iteration_began = Clock::now() - duration_of(resumption_->elapsed().iteration);
  if (frame.index == step) {
    reach(frame);
    return 1;
  }
  frame.arriving = true;
  const std::int64_t executed = std::exchange(frame.index, step) - 1;
  return step - executed;
}

void Recorder::reached() {
  rehearsing_ = false;
  suppress(false);
  resumption_.reset();
  use_.reset();
}

// ---------------------------------------------------------------------------------------------
// Checkpoints inside iterations.

bool Recorder::is_due() const {
  return (flags_.every_steps && steps_since_ >= *flags_.every_steps) ||
         (flags_.every_seconds && seconds_since(kept_at_) >= *flags_.every_seconds);
}

/// The boundary after an iteration is forced in all ranks or in none.
bool Recorder::is_forced(const Frame& main) {
  if (!flags_.every_steps && !flags_.every_seconds) return false;
  return group_.forces(main.ordinal, main.index, is_due());
}

std::int64_t Recorder::leave_nested(Frame& frame) {
  long_epochs_.step(frame.index);
  if (resumption_) return checking_ ? leave_checked(frame) : 1;
  if (group_.is_called_away()) [[unlikely]] {
    preempt(&frame, fmt::format("epoch {}, step {} of {}", epochs_, frame.index, frame.component));
  }
  if (!flags_.every_steps && !flags_.every_seconds) [[likely]]
    return 1;
  ++steps_since_;
  // The state inside an iteration is of use only together with that before it.
  if (is_due() && taken_boundary_ == main_frame().index && taker_.unwritten().steps == 0) {
    take_step(frame);
  }
  return 1;
}

void Recorder::take_step(const Frame& nested) {
  const Frame& main = main_frame();
  take_forced({.kind = store::CheckpointKind::step,
               .main_loop = main.ordinal,
               .iteration = main.index,
               .loop = store::step_name(nested.component, nested.index)},
              nested.settings.attached,
              elapsed_item({seconds_since(main.iteration_began), seconds_since(nested.opened_at)}));
}

// ---------------------------------------------------------------------------------------------
// Preemption.

void Recorder::preempt(const Frame* nested, const std::string& where) {
  last_chance_ = true;
  if (nested && taken_boundary_ == main_frame().index) take_step(*nested);
  fence();
  background_->post([this, where] { end_preempted(where); });
  background_->drain();
  end_process(ExitStatus::preempted);  // the background thread has ended it already
}

void Recorder::end_preempted(const std::string& where) noexcept {
  write_rest();
  try {
    const std::string name =
        pending_signal != 0 ? std::string(signal_name(pending_signal)) : "a signal to another rank";
    const std::string message = fmt::format(
        "{} by {} at {}", pending_signal == SIGINT ? "interrupted" : "preempted", name, where);
    rows_.write_end([&](store::Catalog& catalog, const store::UnwrittenRest& rest) {
      catalog.interrupt_run(run_.id, message, rest);
    });
    // How far the other ranks are is known only when they have ended, too.
    say(Level::result,
        fmt::format(
            "{}; --flor {} --flor_resume goes on with run {} at {}{}", message,
            run_.start.experiment, run_.key.substr(0, 8),
            store::print_point(plan_resume(*store_, run_.id, may_go_on_inside(run_.id)).point),
            group_.ranks() ? ", or earlier if another rank is not that far" : ""));
  } catch (const std::exception& error) {
    say(Level::error,
        fmt::format("the interruption of run {} could not be recorded: {}; --flor {} --flor_resume "
                    "goes on after what is stored of it",
                    run_.key.substr(0, 8), error.what(), run_.start.experiment));
  }
  group_.close();
  close_store();
  if (pending_signal == SIGINT) {
    flush_streams();
    die_of(SIGINT);
  }
  end_process(ExitStatus::preempted);
}

/// Steps look for signals themselves. Outside of main loops no code does, and nothing is lost
/// there.
void Recorder::heed_signal() {
  if (pending_signal == 0 || leaving_) return;
  if (in_loop_) {
    if (told_signal_) return;
    told_signal_ = true;
    const std::string_view name = signal_name(pending_signal);
    say(Level::warn,
        fmt::format("{}: the run is checkpointed at the next step, and ends{}", name,
                    pending_signal == SIGUSR1
                        ? ""
                        : fmt::format("; another {} ends it at once, without that", name)));
    return;
  }
  leaving_ = true;
  background_->post([this] {
    end_preempted(main_loops_ == 0 ? "its start, before the first loop"
                                   : "a place between its loops");
  });
}

}  // namespace flor::detail
