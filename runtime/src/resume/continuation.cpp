#include "resume/continuation.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "base/process_facts.h"
#include "index/catalog/resume_point.h"
#include "protocol/sweep_fact.h"
#include "resume/unregistered.h"
#include "session/secret_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace flor::detail {
namespace {

void warn_of_lost_locals(const Rehearsal& rehearsal) {
  for (const std::string& loop : rehearsal.unknown) {
    say(Level::warn,
        fmt::format("the locals attached to {} were not stored: if they outlive an iteration, "
                    "register them with flor::checkpoints",
                    loop));
  }
}

/// Plans visits that bring back variables of a hosted program that no checkpoint holds, as its
/// sources tell. `how` is "resumed" or "forked".
void bring_back_carried(const store::Catalog& catalog, const store::Run& run,
                        const store::ResumePoint& point, Rehearsal& rehearsal,
                        std::string_view how) {
  const HostedProgram* hosted = hosted_program();
  if (!hosted || !hosted->carried || point.iteration == 0) return;
  const auto loops = catalog.main_loops(run.id);
  const auto& loop = loops.at(static_cast<std::size_t>(point.main_loop)).name;
  CarriedVariables carried = hosted->carried(loop);
  const auto checkpoints = catalog.checkpoints(run.id);
  const bool has_beginning = std::ranges::any_of(checkpoints, [&](const auto& checkpoint) {
    return checkpoint.key ==
           store::CheckpointKey{.main_loop = point.main_loop, .iteration = 0, .loop = {}};
  });
  if (carried.lost.empty() && !has_beginning) carried.lost = std::exchange(carried.visited, {});
  if (!carried.lost.empty()) {
    throw Error(
        fmt::format(
            "not {}: {} leaves {} to later code, and no checkpoint of run "
            "{} holds it; attach it, flor::loop(..., attached=\"...\"), and begin a new run, "
            "or go on without it: the same command with --flor_check none",
            how, loop, carried.lost, run.key.substr(0, 8)),
        ExitStatus::differs);
  }
  if (carried.visited.empty() || rehearsal.first == 0) return;
  rehearsal.first = 0;
  say(Level::warn,
      fmt::format("{} leaves {} to later code, and no checkpoint holds it: going through the "
                  "earlier epochs again, with their nested loops loaded",
                  loop, carried.visited));
}

/// The commit with which the run was last recorded.
std::string last_commit(const store::Catalog& catalog, const store::Run& run) {
  const auto before = catalog.resumptions(run.id);
  return before.empty() ? run.start.commit : before.back().commit;
}

void warn_of_changes(const store::Catalog& catalog, const store::Run& run,
                     const std::string& commit, bool other_sources, const Flags& flags) {
  const std::string key = run.key.substr(0, 8);
  if (other_sources) {
    const std::string last = last_commit(catalog, run);
    say(Level::warn,
        fmt::format("the sources changed since run {} was interrupted: it goes on with "
                    "commit {} (it had {})",
                    key, commit.empty() ? "none" : commit.substr(0, 10),
                    last.empty() ? "none" : last.substr(0, 10)));
  }
  const store::RecordedCommand command = flags.command;
  if (own_arguments(command.words()) != own_arguments(run.start.command.words())) {
    say(Level::warn,
        fmt::format("run {} was started with other arguments: {}", key, run.start.command.text()));
  }
  for (const ChangedFact& fact : changed_facts(run.start.environment, environment())) {
    say(Level::warn, fmt::format("{} was {} when run {} began and is {} now: the results may not "
                                 "be those of an uninterrupted run",
                                 fact.name, fact.before, key, fact.after));
  }
}

CheckPlan as_rank_0(std::int64_t iteration) {
  return {.iteration = iteration, .stretch = {}, .why_not = "rank 0 checks nothing"};
}

CheckPlan check_of_resume(const store::Store& store, const Continuation& made, const Flags& flags) {
  if (!flags.check) return {.stretch = {}, .why_not = "--flor_check none"};
  if (const auto& rank = made.run.start.rank) {
    const auto begun = static_cast<std::int64_t>(store.catalog().ranks(rank->group).size());
    if (begun < rank->world) return {.stretch = {}, .why_not = "one of the ranks had not begun"};
  }
  return plan_check(store, made.run, made.point, flags.check_seconds);
}

/// The check of a fork. Several ranks check a whole epoch or none.
CheckPlan check_of_fork(const store::Store& store, const Continuation& made, const ForkPoint& from,
                        const std::string& others, const Flags& flags) {
  const std::string parent = from.parent.key.substr(0, 8);
  CheckPlan check;
  if (!flags.check) {
    check.why_not = "--flor_check none";
  } else if (!others.empty()) {
    check.why_not = fmt::format("it does not compute what run {} computed", parent);
  } else if (!made.exact) {
    check.why_not = fmt::format("run {} itself was forked or resumed with changes", parent);
  } else {
    check = plan_check(store, from.parent, made.point, flags.check_seconds, Copied::checked);
    if (made.run.start.rank && check.stretch) {
      check = {.stretch = {}, .why_not = "no epoch of all ranks can be computed again in time"};
    }
  }
  return check;
}

}  // namespace

bool may_resume_inside(const store::Store& store, std::int64_t run) {
  const store::ResumePoint latest = store::find_resume_point(store.catalog(), run);
  if (latest.loop.empty()) return true;
  std::vector<std::string> main_loops;
  for (const store::MainLoop& loop : store.catalog().main_loops(run)) {
    main_loops.push_back(loop.name);
  }
  const std::string lost = print_lost_inside(main_loops);
  if (lost.empty()) return true;
  say(Level::warn, fmt::format("epoch {} is computed again from its beginning, since what is not "
                               "registered would be lost inside it: {}; flor::with keeps it",
                               latest.epoch, lost));
  return false;
}

Continuation resume_run(store::Store& store, const store::Run& run, const Resuming& how,
                        const Flags& flags) {
  store::Catalog& catalog = store.catalog();
  Continuation made;
  made.use = store.use_run(run.key);
  ResumePlan plan = how.at ? plan_resume_at(store, run.id, *how.at)
                           : plan_resume(store, run.id, may_resume_inside(store, run.id));
  made.point = std::move(plan.point);
  made.rehearsal = std::move(plan.rehearsal);
  if (flags.check) bring_back_carried(catalog, run, made.point, made.rehearsal, "resumed");
  const std::string last = last_commit(catalog, run);
  made.exact = how.commit == last || !has_other_sources(catalog, run, last, how.commit);
  if (how.warns) warn_of_changes(catalog, run, how.commit, !made.exact, flags);
  made.on_way = values_on_way(catalog, run.id, made.point);
  warn_of_lost_locals(made.rehearsal);
  put_back_environment(run);
  catalog.resume_run(run.id, {.resumed_us = now_us(),
                              .point = made.point,
                              .commit = how.commit,
                              .program_digest = store::file_digest(program_file()),
                              .command = flags.command});
  made.run = catalog.run(run.id).value_or(run);
  if (!made.passes_by()) {
    made.use.reset();
    return made;
  }
  made.check = how.agreed ? as_rank_0(*how.agreed) : check_of_resume(store, made, flags);
  const auto fork = catalog.fork(run.id);
  made.logs_outside = fork && made.point.boundary && made.point.loop.empty() &&
                      made.point.main_loop == fork->main_loop &&
                      made.point.iteration == fork->iteration;
  return made;
}

Continuation fork_run(store::Store& store, const ForkPoint& from, const store::NewRun& as,
                      const std::optional<store::RunBuild>& build,
                      const std::vector<ChangedArgument>& changed, const Flags& flags,
                      std::optional<std::int64_t> agreed) {
  store::Catalog& catalog = store.catalog();
  const auto parent_in_use = store.use_run(from.parent.key);
  Rehearsal visits{.first = from.point.iteration, .unknown = {}};
  if (flags.check) bring_back_carried(catalog, from.parent, from.point, visits, "forked");
  std::vector<std::string> names{kSweepFact};  // a fork decides itself which sweep it belongs to
  for (const ChangedArgument& argument : changed) names.push_back(argument.name);
  const std::string others = fork_changes(catalog, from, flags, as.commit, changed);
  Continuation made;
  made.exact = others.empty() && has_one_program(catalog, from.parent);
  made.run = catalog.fork_run({.parent = from.parent.key,
                               .main_loop = from.point.main_loop,
                               .iteration = from.point.iteration,
                               .epoch = from.point.epoch,
                               .exact = made.exact},
                              as, build, names);
  made.use = store.use_run(made.run.key);
  ResumePlan plan = plan_resume_at(store, made.run.id, from.point);
  made.point = std::move(plan.point);
  made.rehearsal = std::move(plan.rehearsal);
  made.rehearsal.first = std::min(made.rehearsal.first, visits.first);
  warn_of_lost_locals(made.rehearsal);
  made.forked = fmt::format(" from the end of epoch {} of run {}{}{}", from.point.epoch - 1,
                            from.parent.key.substr(0, 8), others.empty() ? "" : ", with ", others);
  made.logs_outside = true;
  made.check = agreed ? as_rank_0(*agreed) : check_of_fork(store, made, from, others, flags);
  return made;
}

}  // namespace flor::detail
