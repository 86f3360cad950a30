// How the program of a run is built, and where its sources are.
#include "build/version_build.h"

#include "output/text.h"
#include "run_spec.h"

#include <fmt/format.h>

namespace flor::cli {
namespace fs = std::filesystem;

BuildPlan build_plan(const store::Catalog& catalog, const store::Run& run,
                     const std::string& command) {
  BuildPlan plan{.recipe = {},
                 .command = command,
                 .program = run.start.program,
                 .repository = run.start.repository,
                 .directory = run.start.directory};
  if (!plan.command.empty()) return plan;
  if (const auto build = catalog.build(run.id)) {
    plan.recipe = BuildRecipe::decode(build->recipe);
    plan.recipe->sources.clear();  // how it is built is the same for all versions
    return plan;
  }
  plan.command = catalog.build_command(run.start.repository, run.start.program).value_or("");
  if (!plan.command.empty()) return plan;
  throw NotFound(fmt::format(
      "it is not known how the program of run {} is built: say it with --build COMMAND (and for "
      "later runs with flor_instrument(TARGET) in CMakeLists.txt)",
      short_key(run)));
}

void remember_command(store::Catalog& catalog, const store::Run& run, const std::string& command) {
  if (command.empty()) return;
  catalog.remember_build_command(run.start.repository, run.start.program, command);
}

git::Repository repository_of(const store::Run& run) {
  if (run.start.commit.empty()) {
    throw NotFound(
        fmt::format("run {} was recorded without git: its sources were not kept", short_key(run)));
  }
  std::error_code error;
  for (const fs::path& place : {fs::path(run.start.repository), fs::current_path()}) {
    if (!fs::is_directory(place, error)) continue;
    auto repository = git::Repository::discover(place);
    if (repository && repository->commit(run.start.commit)) return std::move(*repository);
  }
  throw NotFound(
      fmt::format("commit {} of run {} is neither in {} nor in a repository here: its "
                  "sources are gone",
                  short_commit(run.start.commit), short_key(run), printable(run.start.repository)));
}

VersionWithTree build_version(const fs::path& home, const store::Run& run, const BuildPlan& plan,
                              const Edits& edits) {
  VersionWithTree version{VersionTree::take(home, repository_of(run), run.start.commit), {}, {}};
  version.missing = version.tree.check_out(run.start.commit, edits, plan.untracked());
  version.built = version.tree.build(plan);
  return version;
}

}  // namespace flor::cli
