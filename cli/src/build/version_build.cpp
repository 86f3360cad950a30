// Determines how the program of a run is built, and where its sources are.
#include "build/version_build.h"

#include "build/recipe_text.h"
#include "choose/run_spec.h"
#include "output/terminal_text.h"
#include "view/sources.h"

#include <fmt/format.h>

namespace flor::cli {
namespace fs = std::filesystem;

namespace {

/// The recipes of the latest runs that were recorded on this machine.
std::vector<BuildRecipe> recipes_of_here(const store::Catalog& catalog) {
  constexpr std::size_t kRuns = 256;
  std::vector<BuildRecipe> recipes;
  for (const store::Run& run : catalog.runs({}, kRuns)) {
    if (!run.origin.recorded_here()) continue;
    const auto build = catalog.build(run.id);
    if (!build) continue;
    try {
      recipes.push_back(BuildRecipe::decode(build->recipe));
    } catch (const Error&) {  // encoded by another version of Flor
    }
  }
  return recipes;
}

}  // namespace

BuildPlan build_plan(const store::Catalog& catalog, const store::Run& run, const Permit& permit,
                     const std::string& command) {
  BuildPlan plan(permit);
  plan.command = command;
  plan.program = run.start.program;
  plan.repository = run.start.repository;
  plan.directory = run.start.directory;
  if (!plan.command.empty()) return plan;
  if (const auto build = catalog.build(run.id)) {
    plan.recipe = BuildRecipe::decode(build->recipe);
    plan.recipe->sources.clear();  // all versions are built the same way
    check_recipe(*plan.recipe);
    if (!permit.is_ours()) {
      plan.left_out = leave_out_foreign(*plan.recipe, recipes_of_here(catalog));
    }
    return plan;
  }
  plan.command = catalog.build_command(run.start.repository, run.start.program).value_or("");
  if (!plan.command.empty()) return plan;
  throw NotFound(fmt::format(
      "it is not known how the program of run {} is built: say it with --build COMMAND (and for "
      "later runs with flor_instrument(TARGET) in CMakeLists.txt)",
      short_key(run)));
}

void remember_command(store::Catalog& catalog, const store::Run& run, const Permit& permit,
                      const std::string& command) {
  if (command.empty() || !permit.is_ours()) return;
  catalog.remember_build_command(run.id, run.start.repository, run.start.program, command);
}

git::Repository repository_of(const store::Run& run) {
  if (run.start.commit.empty()) {
    throw NotFound(
        fmt::format("run {} was recorded without git: its sources were not kept", short_key(run)));
  }
  std::error_code error;
  for (const fs::path& place : places_of_sources(run)) {
    if (!fs::is_directory(place, error)) continue;
    auto repository = git::Repository::discover(place);
    if (repository && repository->commit(run.start.commit)) return std::move(*repository);
  }
  if (!run.origin.recorded_here()) {
    throw NotFound(
        fmt::format("commit {} of run {}, which was not recorded here, is in no repository where "
                    "you are: fetch it with git, and go there",
                    short_commit(run.start.commit), short_key(run)));
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
