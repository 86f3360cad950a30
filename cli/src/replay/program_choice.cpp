#include "replay/program_choice.h"

#include "context.h"
#include "output/text.h"
#include "output/time.h"
#include "run_spec.h"

#include <flor/store/digest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>

namespace flor::cli {
namespace {

/// The latest run that this program recorded, whatever it was called.
store::Run latest_of_program(const store::Catalog& catalog, const store::Run& run) {
  for (store::Run& other : catalog.runs()) {
    if (other.start.program == run.start.program &&
        other.start.repository == run.start.repository && !other.start.commit.empty()) {
      return std::move(other);
    }
  }
  return run;
}

/// Why the program at the recorded path does not do; empty if the version was asked for.
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

/// Of a program that is to be built: whether anybody knows how.
BuildPlan plan_or_refuse(Context& context, const store::Run& run, const ProgramWish& wish,
                         const std::string& why) {
  try {
    return build_plan(context.catalog(), run, wish.command);
  } catch (const NotFound&) {
    refuse_unknown_build(run, why);
  }
}

}  // namespace

VersionWithTree build_and_say(Context& context, const store::Run& run, const std::string& command,
                              bool clean) {
  store::Store& store = context.store_to_change();
  const BuildPlan plan = build_plan(context.catalog(), run, command);
  VersionWithTree version{
      VersionTree::take(store.home(), repository_of(run), run.start.commit), {}, {}};
  if (clean) version.tree.clean();
  version.missing = version.tree.check_out(run.start.commit, {}, plan.untracked());
  for (const std::string& line : version.missing) context.note("not checked out: " + line);
  context.note(fmt::format("version {} of {} in {}", short_commit(run.start.commit),
                           printable(run.start.experiment),
                           printable(version.tree.sources().string())));
  version.built = version.tree.build(plan);
  remember_command(store.catalog(), run, command);
  return version;
}

ProgramChoice choose_program(Context& context, const store::Run& run, const ProgramWish& wish) {
  ProgramChoice choice{.program = run.start.program, .why = "as it is now", .version = {}};
  if (wish.current || run.start.commit.empty() || run.start.program.empty()) return choice;
  const bool exists = ::access(run.start.program.c_str(), X_OK) == 0;
  const store::Run latest = latest_of_program(context.catalog(), run);
  const bool old = latest.start.commit != run.start.commit || wish.own || wish.named_version;
  if (wish.command.empty() && exists &&
      store::file_digest(run.start.program) == run.start.program_digest) {
    choice.why = "which recorded the run";
    choice.as_recorded = old;
    return choice;
  }
  if (wish.command.empty() && exists && !old) {
    choice.why = "rebuilt since it recorded the run, whose version is the latest";
    return choice;
  }
  const std::string reason = why_not_recorded(run, wish, exists, latest);
  (void)plan_or_refuse(context, run, wish, reason);
  choice.why = fmt::format("built from version {}{}{}", short_commit(run.start.commit),
                           wish.command.empty() ? "" : " by --build", reason);
  if (wish.dry_run) {
    choice.to_be_built = true;
    return choice;
  }
  choice.version.emplace(build_and_say(context, run, wish.command));
  choice.program = choice.version->built.program.string();
  return choice;
}

void print_build_error(Context& context, const BuildError& error) {
  std::istringstream lines(error.excerpt());
  for (std::string line; std::getline(lines, line);) context.note("  " + line);
}

}  // namespace flor::cli
