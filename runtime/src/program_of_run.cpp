#include "program_of_run.h"

#include "git/shadow.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <filesystem>

namespace flor::detail {
namespace {

constexpr std::size_t kDigitsOfKey = 8;

bool has_ended(const store::Run& run) { return run.state != store::RunState::running; }

/// Of the experiment that was recorded in `place` last, the latest run there that has ended.
std::optional<store::Run> latest_of_name(const store::Catalog& catalog, const std::string& place,
                                         const std::string& head) {
  const auto name = catalog.last_name(place);
  if (!name) return std::nullopt;
  std::optional<store::Run> latest;
  for (store::Run& run :
       catalog.runs(*name, SIZE_MAX, store::RunDetail::all, store::RunRanks::first)) {
    if (run.start.repository != place || !has_ended(run)) continue;
    if (!head.empty() && run.start.commit == head) return std::move(run);
    if (!latest) latest = std::move(run);
  }
  return latest;
}

}  // namespace

bool Program::is(const Program& other) const {
  if (path == other.path) return true;
  return recipe && other.recipe && recipe->target == other.recipe->target &&
         recipe->source_directory == other.recipe->source_directory;
}

std::string Program::key() const {
  return recipe ? recipe->target + " of " + recipe->source_directory : path;
}

std::string Program::print(const std::string& directory) const {
  const auto relative = std::filesystem::path(path).lexically_relative(directory);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

Program program_of(const store::Catalog& catalog, const store::Run& run) {
  Program program{.path = run.start.program, .recipe = {}};
  if (const auto build = catalog.build(run.id)) {
    try {
      program.recipe = BuildRecipe::decode(build->recipe);
    } catch (const Error&) {  // of another version of Flor: the path tells it apart
    }
  }
  return program;
}

Program program_at(const store::Catalog& catalog, const std::string& path) {
  Program program{.path = path, .recipe = {}};
  const auto run = latest_run_of(catalog, program, {}, [](const store::Run&) { return true; });
  return run ? program_of(catalog, *run) : program;
}

Surroundings surroundings() {
  Surroundings here{.place = {}, .directory = std::filesystem::current_path().string(), .head = {}};
  try {
    const auto repository = git::Repository::discover(here.directory);
    here.place = repository ? repository->work_tree().string() : here.directory;
    if (repository && repository->branch_tip(git::kShadowBranch)) {
      here.head = repository->head().value_or("");
    }
  } catch (const Error&) {
    here.place = here.directory;
  }
  return here;
}

std::optional<store::Run> run_meant(const store::Catalog& catalog, const Surroundings& here,
                                    const std::optional<Program>& program) {
  const auto is_at_head = [&](const store::Run& run) {
    return has_ended(run) && run.start.commit == here.head;
  };
  if (program) {
    if (!here.head.empty()) {
      if (auto run = latest_run_of(catalog, *program, here.place, is_at_head)) return run;
    }
    for (const std::string& place : {here.place, here.directory}) {
      if (auto run = latest_run_of(catalog, *program, place, has_ended)) return run;
    }
  }
  if (auto run = latest_of_name(catalog, here.place, here.head)) return run;
  return latest_of_name(catalog, here.directory, {});
}

store::Run resolve_for(const store::Catalog& catalog, std::string_view spec,
                       const Program& program) {
  store::Run run = catalog.resolve(spec);
  if (spec != run.start.experiment || program.is(program_of(catalog, run))) return run;
  auto own = latest_run_of(catalog, program, {}, [&](const store::Run& other) {
    return other.start.experiment == run.start.experiment;
  });
  return own ? *std::move(own) : run;
}

std::string of_another_program(const store::Catalog& catalog, const store::Run& run,
                               const Program& program, std::string_view option) {
  const Program other = program_of(catalog, run);
  const std::string& place = run.start.repository;
  if (program.is(other)) return {};
  const auto latest = latest_run_of(catalog, program, place, has_ended);
  if (!latest && !std::filesystem::exists(other.path)) return {};  // renamed, or built elsewhere
  const std::string key = latest ? latest->key.substr(0, kDigitsOfKey) : std::string();
  return fmt::format("run {} was recorded by {}, not by {}{}", run.key.substr(0, kDigitsOfKey),
                     other.print(place), program.print(place),
                     latest ? fmt::format(", whose latest run is {}: {} {}", key, option, key)
                            : fmt::format(", which has no run here: {} RUN names another", option));
}

std::optional<bool> same_sources(const Program& a, const Program& b) {
  if (!a.recipe || !b.recipe || a.recipe->sources.empty() || b.recipe->sources.empty()) {
    return std::nullopt;
  }
  return a.recipe->target == b.recipe->target && a.recipe->flags == b.recipe->flags &&
         a.recipe->sources == b.recipe->sources;
}

}  // namespace flor::detail
