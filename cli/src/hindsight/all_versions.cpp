#include "hindsight/all_versions.h"

#include "choose/run_spec.h"
#include "hindsight/all_versions_text.h"
#include "output/terminal_text.h"
#include "protocol/program_of_run.h"
#include "replay/launch_facts.h"
#include "shell/context.h"
#include "shell/current_settings.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace flor::cli {
namespace {

/// Words of --hunks: a number of a hunk, or a name for all hunks that log it.
std::set<int> parse_hunks(const std::string& list, const Questions& questions) {
  std::set<int> hunks;
  const std::size_t count = questions.hunks().size();
  for (const std::string& word : split_list(list)) {
    std::set<int> meant = questions.hunks_that_log(word);
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    if (whole && number >= 1 && static_cast<std::size_t>(number) <= count) meant.insert(number);
    if (meant.empty()) {
      throw UsageError(fmt::format(
          "--hunks {}: no log statement that the work tree adds is called '{}': expected what one "
          "of them logs, or numbers from 1 to {}, as --dry-run shows them",
          printable(list), printable(word), count));
    }
    hunks.merge(meant);
  }
  return hunks;
}

/// The place in a compiler message such as "…/train.cpp:57:12: error: …": "train.cpp" and 57.
struct ErrorPlace {
  std::string file;
  std::uint32_t line = 0;
};
std::vector<ErrorPlace> error_places(const std::string& text) {
  std::vector<ErrorPlace> places;
  for (std::size_t colon = 0; (colon = text.find(':', colon)) != text.npos; ++colon) {
    std::uint32_t line = 0;
    const char* begin = text.data() + colon + 1;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), line);
    if (error != std::errc() || end == begin || end == text.data() + text.size() || *end != ':') {
      continue;
    }
    const std::size_t start = text.find_last_of(" \n\t'", colon) + 1;
    places.push_back({text.substr(start, colon - start), line});
  }
  return places;
}

class Asking {
 public:
  Asking(Context& context, const AllVersionsWish& wish)
      : context_(context),
        wish_(wish),
        catalog_(context.catalog()),
        gate_(context, Gate::Use::replay, wish.trust) {}

  int run() {
    if (!wish_.apply) {
      throw UsageError("--all-versions asks what the work tree's log statements ask: add --apply");
    }
    const std::string experiment =
        wish_.experiment.empty() ? default_run(catalog_).start.experiment : wish_.experiment;
    std::vector<VersionRuns> all = versions_of(catalog_, experiment);
    if (!wish_.trust) leave_out_fetched(experiment, all);
    const auto newest = std::ranges::find_if(
        all, [](const VersionRuns& version) { return !version.commit.empty(); });
    if (newest == all.end()) {
      throw NotFound(fmt::format("{} was recorded without git: its versions are not known",
                                 printable(experiment)));
    }
    refuse_scripts(newest->runs.front());
    questions_.emplace(repository_to_ask(newest->runs.front(), newest->commit), newest->commit,
                       std::vector<std::filesystem::path>{context_.store().home()});
    if (questions_->hunks().empty()) {
      throw NotFound(
          fmt::format("the work tree {} adds no log statement to version {}, the newest of {}{}",
                      printable(questions_->repository().work_tree().string()),
                      short_commit(newest->commit), printable(experiment), other_edits_hint()));
    }
    hunks_ = parse_hunks(wish_.hunks, *questions_);
    check_wish(wish_.replay);
    const auto chosen = versions_where(catalog_, named_versions(all, wish_.versions), wish_.where,
                                       context_.now_us());
    if (chosen.empty()) throw NotFound("no run meets the conditions");
    for (const VersionRuns& version : chosen) {
      asked_.push_back(ask(version));
      if (interrupted_) break;
    }
    return finish();
  }

 private:
  /// Throws UsageError for a script: statements are carried from C++ to C++ only.
  static void refuse_scripts(const store::Run& run) {
    if (detail::interpreter_of(run).empty()) return;
    throw UsageError(fmt::format(
        "run {} was recorded by the script {}, and log statements are carried to versions of C++ "
        "programs alone: check a version out (git worktree add DIR {}), add them there, and replay "
        "it there",
        run.key.substr(0, 8), printable(run.start.program), short_commit(run.start.commit)));
  }

  /// Removes fetched runs if runs recorded here have the experiment's name, too: then the name
  /// means only those.
  void leave_out_fetched(const std::string& experiment, std::vector<VersionRuns>& all) {
    const std::string others = detail::fetched_namesakes(catalog_, experiment);
    if (others.empty()) return;
    context_.note(printable(others));
    for (VersionRuns& version : all) {
      std::erase_if(version.runs, [](const auto& run) { return run.origin.from_elsewhere(); });
    }
    std::erase_if(all, [](const VersionRuns& version) { return version.runs.empty(); });
  }

  std::string other_edits_hint() const {
    if (questions_->others().empty()) return {};
    const carry::OtherEdit& other = questions_->others().front();
    return fmt::format("; other edits are not carried, such as {}:{}: {}", other.path, other.line,
                       printable(other.what));
  }

  AskedVersion ask(const VersionRuns& version) {
    AskedVersion asked;
    asked.version = version;
    for (const store::Run& run : version.runs) asked.runs.push_back({run, {}, {}, 0});
    try {
      ask(asked);
    } catch (const BuildError& error) {
      asked.problem = error.what();
      asked.excerpt = error.excerpt();
    } catch (const std::exception& error) {  // continues with the other versions, which may work
      asked.problem = error.what();
    }
    return asked;
  }

  void ask(AskedVersion& asked) {
    if (asked.version.commit.empty()) throw NotFound("it was recorded without git");
    asked.patched = questions_->patch(asked.version.commit, hunks_);
    if (asked.patched.carried.placed.empty()) {
      asked.problem = "none of the log statements has a place there";
      return;
    }
    if (!asked.patched.changes()) return;  // the version logs everything already
    if (wish_.dry_run) return estimate(asked);
    const std::vector<OneBuild> builds = plan_builds(asked);
    for (const OneBuild& one : builds) {
      try {
        const VersionWithTree version = build(asked, one.runs.front()->run, one.plan);
        for (AskedRun* run : one.runs) {
          replay(asked, *run, version);
          if (interrupted_) return;
        }
      } catch (const std::exception& error) {
        if (builds.size() == 1) throw;
        for (AskedRun* run : one.runs) run->problem = error.what();
      }
    }
  }

  /// One build for all runs of a version whose program is built in the same way.
  struct OneBuild {
    std::string key;
    BuildPlan plan;
    std::vector<AskedRun*> runs;
  };
  /// Groups the runs of a version by their builds. A run that cannot be built is marked with its
  /// problem, since the others may be built.
  std::vector<OneBuild> plan_builds(AskedVersion& asked) {
    std::vector<OneBuild> builds;
    for (AskedRun& run : asked.runs) {
      if (run.run.state == store::RunState::running) {
        run.problem = "it is still being recorded";
        continue;
      }
      try {
        detail::check_overrides(catalog_, run.run, wish_.replay.instead(),
                                current_settings().get("overridable").value);
        BuildPlan plan = build_plan(catalog_, run.run, gate_.pass(run.run), wish_.build);
        const std::string key = fmt::format("{}\n{}\n{}", run.run.start.program,
                                            plan.permit.is_ours() ? "of here" : "of elsewhere",
                                            plan.recipe ? plan.recipe->encode() : plan.command);
        auto same = std::ranges::find(builds, key, &OneBuild::key);
        if (same == builds.end()) same = builds.insert(same, {key, std::move(plan), {}});
        same->runs.push_back(&run);
      } catch (const std::exception& error) {
        run.problem = error.what();
      }
    }
    return builds;
  }

  /// Builds the version. If hunks do not compile, leaves them out with a message and builds again.
  VersionWithTree build(AskedVersion& asked, const store::Run& run, const BuildPlan& plan) {
    while (true) {
      context_.note(fmt::format("building version {} with {} log statement{}",
                                short_commit(asked.version.commit),
                                asked.patched.carried.placed.size(),
                                asked.patched.carried.placed.size() == 1 ? "" : "s"));
      try {
        store::Store& store = context_.store_to_change();
        say_what_is_left_out(context_, plan);
        VersionWithTree version = build_version(store.home(), run, plan, asked.patched.edits);
        remember_command(store.catalog(), run, plan.permit, wish_.build);
        asked.build_seconds += version.built.seconds;
        asked.built_before = version.built.up_to_date;
        asked.built = true;
        return version;
      } catch (const BuildError& error) {
        const std::set<int> broken = hunks_at_fault(asked, error);
        if (broken.empty()) throw;
        if (!leave_out(asked, broken, error.what())) throw;
      }
    }
  }

  /// The hunks in whose lines the compiler found an error; if there are none, those that use names
  /// which the version does not have.
  std::set<int> hunks_at_fault(const AskedVersion& asked, const BuildError& error) const {
    std::set<int> hunks;
    const auto places = error_places(std::string(error.what()) + "\n" + error.excerpt());
    for (const carry::Placed& placed : asked.patched.carried.placed) {
      if (placed.present) continue;
      const std::string& text = questions_->hunk(placed.hunk).text;
      const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1;
      const bool named = std::ranges::any_of(places, [&](const ErrorPlace& place) {
        return place.file.ends_with(placed.path) && place.line >= placed.line &&
               place.line < placed.line + lines;
      });
      if (named) hunks.insert(placed.hunk);
    }
    if (!hunks.empty()) return hunks;
    for (const carry::Placed& placed : asked.patched.carried.placed) {
      if (!placed.missing.empty()) hunks.insert(placed.hunk);
    }
    return hunks;
  }

  /// Leaves hunks, and those that share variables with them, out of the version. Returns false, and
  /// changes nothing, if no hunk would be left.
  bool leave_out(AskedVersion& asked, std::set<int> broken, const std::string& why) {
    for (const int number : std::set<int>(broken)) {
      const auto& needs = questions_->hunk(number).needs;
      broken.insert(needs.begin(), needs.end());
    }
    std::set<int> rest;
    for (const carry::Placed& placed : asked.patched.carried.placed) {
      if (!broken.contains(placed.hunk)) rest.insert(placed.hunk);
    }
    if (rest.empty()) return false;
    auto patched = questions_->patch(asked.version.commit, rest);
    if (!patched.changes()) return false;
    auto& all = patched.carried.refused;
    const auto& before = asked.patched.carried.refused;
    all.insert(all.end(), before.begin(), before.end());
    for (const int number : broken) {
      all.push_back({number, "it does not compile there: " + why, {}});
    }
    std::ranges::sort(all, {}, &carry::Refused::hunk);
    asked.patched = std::move(patched);
    return true;
  }

  std::vector<std::string> executed_loops(const AskedVersion& asked, const store::Run& run) const {
    std::set<std::string> nested;
    for (const auto& execution : catalog_.executions(run.id)) {
      nested.insert(execution.loop.substr(0, execution.loop.find('~')));
    }
    return Questions::loops_to_execute(asked.patched, nested);
  }

  /// The request for a replay that executes the loops which the patch touches.
  ReplayRequest request(const AskedVersion& asked, const store::Run& run, ProgramChoice choice,
                        const std::string& sources) {
    ReplayWish wish = wish_.replay;
    ReplayRequest request = replay_request(context_, run, {}, wish, [&](const auto& ranks) {
      ChosenLaunches chosen;
      for (const store::Run& rank : ranks) {
        chosen.launches.push_back(launch_of(rank, choice, gate_.pass(rank), wish.threads_given()));
      }
      chosen.sources = sources;
      return chosen;
    });
    if (request.order.probes.empty() && !wish.no_probe) {
      request.facts = replay_facts(catalog_, run, executed_loops(asked, run), request.order.steps);
    }
    return request;
  }

  void estimate(AskedVersion& asked) {
    for (AskedRun& run : asked.runs) {
      try {
        // Throws if nothing says how to build the run's program.
        (void)build_plan(catalog_, run.run, gate_.pass(run.run), wish_.build);
        ProgramChoice choice{.program = run.run.start.program,
                             .why = "built for it",
                             .version = {},
                             .to_be_built = true};
        const ReplayRequest made = request(asked, run.run, std::move(choice), {});
        run.estimate = simulate(made.facts, made.facts, made.asked, made.workers).seconds;
      } catch (const std::exception& error) {
        run.problem = error.what();
      }
    }
  }

  void replay(AskedVersion& asked, AskedRun& run, const VersionWithTree& version) {
    try {
      ProgramChoice choice{
          .program = version.built.program.string(), .why = "built for it", .version = {}};
      run.replay = replay_run(
          context_, request(asked, run.run, std::move(choice), version.built.sources.string()));
      interrupted_ = run.replay->outcome.interrupted;
    } catch (const std::exception& error) {
      run.problem = error.what();
    }
  }

  int finish() {
    std::size_t answered = 0, open = 0;
    bool differs = false;
    for (const AskedVersion& asked : asked_) {
      if (!asked.patched.carried.refused.empty()) ++open;
      for (const AskedRun& run : asked.runs) {
        const bool present = asked.problem.empty() && !asked.patched.changes();
        const bool done = present ||
                          (wish_.dry_run && asked.problem.empty() && run.problem.empty()) ||
                          (run.replay && run.replay->status() == ExitStatus::done);
        const bool other = run.replay && run.replay->status() == ExitStatus::differs;
        differs = differs || other;
        ++(done || other ? answered : open);
      }
    }
    print_answers(context_, *questions_, asked_, wish_.dry_run);
    if (interrupted_) return static_cast<int>(ExitStatus::interrupted);
    if (differs) return static_cast<int>(ExitStatus::differs);
    if (open == 0) return static_cast<int>(ExitStatus::done);
    return static_cast<int>(answered > 0 ? ExitStatus::partly_done : ExitStatus::failed);
  }

  Context& context_;
  const AllVersionsWish& wish_;
  const store::Catalog& catalog_;
  Gate gate_;
  std::optional<Questions> questions_;
  std::set<int> hunks_;
  std::vector<AskedVersion> asked_;
  bool interrupted_ = false;
};

}  // namespace

int replay_all_versions(Context& context, const AllVersionsWish& wish) {
  return Asking(context, wish).run();
}

}  // namespace flor::cli
