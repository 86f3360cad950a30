#include "build/program_choice.h"

#include "choose/run_spec.h"
#include "git/shadow.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/program_of_run.h"
#include "retention/checkpoint_address.h"
#include "shell/context.h"
#include "sources/analysis.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

namespace flor::cli {
namespace {

/// The latest run that the program of `run` recorded, in any experiment; `run` if there is no
/// other.
store::Run latest_of_program(const store::Catalog& catalog, const store::Run& run) {
  const auto latest =
      detail::latest_run_of(catalog, detail::program_of(catalog, run), run.start.repository,
                            [](const store::Run& other) { return !other.start.commit.empty(); });
  return latest.value_or(run);
}

/// Whether two runs of a program were recorded with the same version of it, i.e. the same sources,
/// even if other files in the repository changed.
bool is_same_version(const store::Catalog& catalog, const store::Run& a, const store::Run& b) {
  if (a.start.commit == b.start.commit) return true;
  const auto same =
      detail::same_sources(detail::program_of(catalog, a), detail::program_of(catalog, b));
  if (same) return *same;
  const auto is_of_program = [](const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    return sources::is_source(path) || name == "CMakeLists.txt" || name.ends_with(".cmake");
  };
  try {
    const auto changes = repository_of(a).changes(a.start.commit, b.start.commit);
    return std::ranges::none_of(changes, [&](const git::FileChange& change) {
      return is_of_program(change.path) || is_of_program(change.old_path);
    });
  } catch (const Error&) {  // the repository does not have these commits
    return false;
  }
}

/// A log statement of the work tree that the version of `run` does not have, as "train.cpp:12";
/// empty if there is none.
std::string unasked_statement(const store::Run& run, const std::filesystem::path& home) {
  try {
    const auto repository = repository_of(run);
    for (const git::ComparedFile& file :
         repository.compare_work_tree(run.start.commit, sources::is_source, {home})) {
      if (file.same || !file.now) continue;
      std::set<std::string> before;
      std::istringstream old(file.before.value_or(""));
      for (std::string line; std::getline(old, line);) before.insert(line);
      std::istringstream now(*file.now);
      int number = 0;
      for (std::string line; std::getline(now, line);) {
        ++number;
        if (line.find("flor::log") == line.npos || before.contains(line)) continue;
        return fmt::format("{}:{}", file.path, number);
      }
    }
  } catch (const Error&) {  // nothing can be compared without sources
  }
  return {};
}

void say_what_is_not_asked(Context& context, const store::Run& run) {
  const std::string statement = unasked_statement(run, context.store().home());
  if (statement.empty()) return;
  context.note(fmt::format(
      "{} of the work tree is not asked, since this is the program of version {}: "
      "--current asks {} as it is, --all-versions --apply carries it into the version",
      printable(statement), short_commit(run.start.commit), printable(run.start.program)));
}

/// Why the program at the recorded path is not used; empty if the user gave a command or a version.
std::string why_not_recorded(const store::Run& run, const ProgramWish& wish, bool exists,
                             const store::Run& latest) {
  const std::string program = printable(run.start.program);
  if (!wish.command.empty()) return {};
  if (!exists) return fmt::format(", since {} is gone", program);
  if (wish.named_version || wish.own) return {};
  return fmt::format(", since {} is of a later one ({})", program,
                     short_commit(latest.start.commit));
}

[[noreturn]] void refuse_unknown_build(const store::Run& run, const std::string& why) {
  throw NotFound(
      fmt::format("run {} needs the program of its own version{}, and it is not known how to build "
                  "that: say it with --build COMMAND; --current replays it with {} as it is",
                  short_key(run), why, printable(run.start.program)));
}

/// Throws UsageError for options that ask for a version of a script: a script is executed from the
/// work tree, and there is nothing to build.
void refuse_version_of_script(const store::Run& run, const ProgramWish& wish) {
  if (!wish.own && !wish.named_version && wish.command.empty()) return;
  throw UsageError(fmt::format(
      "run {} was recorded by the script {}, which is replayed as it is in the work tree: check its "
      "version out (git checkout {}), and leave --own, --build and the version away",
      short_key(run), printable(run.start.program), short_commit(run.start.commit)));
}

/// Plans a build. Throws NotFound with the reason `why` if nothing says how to build the program.
BuildPlan plan_or_refuse(Context& context, const store::Run& run, const Permit& permit,
                         const ProgramWish& wish, const std::string& why) {
  try {
    return build_plan(context.catalog(), run, permit, wish.command);
  } catch (const NotFound&) {
    refuse_unknown_build(run, why);
  }
}

/// The program that these words name. Finds its file as the shell would, and takes over the name
/// under which its own runs know it.
detail::Program program_of_words(const store::Catalog& catalog,
                                 const std::vector<std::string>& words) {
  std::error_code error;
  const auto path = std::filesystem::canonical(words.front(), error);
  return detail::program_at(catalog, error ? words.front() : path.string());
}

/// The latest run recorded here by each other program, as "91bc44d0 of build/two".
std::vector<std::string> runs_of_others(const store::Catalog& catalog, const store::Run& run) {
  std::vector<detail::Program> programs{detail::program_of(catalog, run)};
  std::vector<std::string> others;
  for (const store::Run& other :
       catalog.runs({}, SIZE_MAX, store::RunDetail::all, store::RunRanks::first)) {
    if (other.start.repository != run.start.repository) continue;
    const detail::Program program = detail::program_of(catalog, other);
    if (std::ranges::any_of(programs, [&](const auto& known) { return known.is(program); })) {
      continue;
    }
    programs.push_back(program);
    if (!std::filesystem::exists(program.path)) continue;  // renamed since, or built elsewhere
    others.push_back(fmt::format("{} of {}", short_key(other),
                                 printable(program.print(run.start.repository))));
  }
  return others;
}

}  // namespace

store::Run run_to_replay(Context& context, const std::vector<std::string>& program) {
  const store::Catalog& catalog = context.catalog();
  std::optional<detail::Program> own;
  if (!program.empty()) own = program_of_words(catalog, program);
  auto meant = detail::run_meant(catalog, detail::surroundings(), own);
  store::Run run = meant ? *std::move(meant) : default_run(catalog);
  if (own) {
    const std::string other = detail::of_another_program(catalog, run, *own, "flor replay");
    if (!other.empty()) context.note(printable(other));
    return run;
  }
  const std::vector<std::string> others = runs_of_others(catalog, run);
  if (!others.empty()) {
    const detail::Program its = detail::program_of(catalog, run);
    context.note(fmt::format("run {} is of {}; also recorded here: {}; flor replay RUN, or -- "
                             "PROGRAM, says which",
                             short_key(run), printable(its.print(run.start.repository)),
                             fmt::join(others, ", ")));
  }
  return run;
}

RunChoice run_to_replay(Context& context, const std::string& spec,
                        const std::vector<std::string>& program) {
  const store::Catalog& catalog = context.catalog();
  RunChoice choice = parse_run(context, spec);
  if (program.empty()) return choice;
  const detail::Program own = program_of_words(catalog, program);
  const std::string& name = choice.run.start.experiment;
  if (store::run_of_spec(spec) == name || spec == name) {
    choice.run = detail::resolve_for(catalog, name, own);
  }
  // A program without runs of its own is taken for another build of the recorded program.
  const bool has_runs = detail::latest_run_of(catalog, own, choice.run.start.repository,
                                              [](const store::Run&) { return true; })
                            .has_value();
  const std::string other = detail::of_another_program(catalog, choice.run, own, "flor replay");
  if (has_runs && !other.empty()) context.note(printable(other));
  return choice;
}

void say_what_is_left_out(Context& context, const BuildPlan& plan) {
  if (plan.left_out.empty()) return;
  context.note(fmt::format("not taken from the recipe, since it is another machine's: {}",
                           printable(fmt::format("{}", fmt::join(plan.left_out, ", ")))));
}

VersionWithTree build_and_say(Context& context, const store::Run& run, const Permit& permit,
                              const std::string& command, bool clean) {
  store::Store& store = context.store_to_change();
  const BuildPlan plan = build_plan(context.catalog(), run, permit, command);
  say_what_is_left_out(context, plan);
  VersionWithTree version{
      VersionTree::take(store.home(), repository_of(run), run.start.commit), {}, {}};
  if (clean) version.tree.clean();
  version.missing = version.tree.check_out(run.start.commit, {}, plan.untracked());
  for (const std::string& line : version.missing) context.note("not checked out: " + line);
  context.note(fmt::format("version {} of {} in {}", short_commit(run.start.commit),
                           printable(run.start.experiment),
                           printable(version.tree.sources().string())));
  version.built = version.tree.build(plan);
  remember_command(store.catalog(), run, permit, command);
  return version;
}

ProgramChoice choose_program(Context& context, const store::Run& run, const Permit& permit,
                             const ProgramWish& wish) {
  ProgramChoice choice{.program = run.start.program, .why = "as it is now", .version = {}};
  if (wish.current || run.start.commit.empty() || run.start.program.empty()) return choice;
  if (!detail::interpreter_of(run).empty()) {
    refuse_version_of_script(run, wish);
    return choice;
  }
  const bool exists = ::access(run.start.program.c_str(), X_OK) == 0;
  const store::Run latest = latest_of_program(context.catalog(), run);
  const bool asked = wish.own || wish.named_version || !wish.command.empty();
  const bool old =
      wish.own || wish.named_version || !is_same_version(context.catalog(), latest, run);
  if (wish.command.empty() && exists &&
      store::file_digest(run.start.program) == run.start.program_digest) {
    choice.why = "which recorded the run";
    choice.as_recorded = old;
    if (old && !asked) say_what_is_not_asked(context, run);
    return choice;
  }
  if (wish.command.empty() && exists && !old) {
    choice.why = "rebuilt since it recorded the run, whose version is the latest";
    return choice;
  }
  if (!asked) say_what_is_not_asked(context, run);
  const std::string reason = why_not_recorded(run, wish, exists, latest);
  (void)plan_or_refuse(context, run, permit, wish, reason);
  choice.why = fmt::format("built from version {}{}{}", short_commit(run.start.commit),
                           wish.command.empty() ? "" : " by --build", reason);
  if (wish.dry_run) {
    choice.to_be_built = true;
    return choice;
  }
  choice.version.emplace(build_and_say(context, run, permit, wish.command));
  choice.program = choice.version->built.program.string();
  return choice;
}

void print_build_error(Context& context, const BuildError& error) {
  std::istringstream lines(error.excerpt());
  for (std::string line; std::getline(lines, line);) context.note("  " + line);
}

}  // namespace flor::cli
