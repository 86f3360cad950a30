#include "protocol/program_of_run.h"

#include "git/shadow.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace flor::detail {
namespace {

constexpr std::size_t kDigitsOfKey = 8;

bool has_ended(const store::Run& run) { return run.state != store::RunState::running; }

/// Among the runs of the experiment that was last recorded in `place`: the latest for which
/// `counts` is true.
template <typename Counts>
std::optional<store::Run> latest_of_name(const store::Catalog& catalog, const std::string& place,
                                         const std::string& head, const Counts& counts) {
  const auto name = catalog.last_name(place);
  if (!name) return std::nullopt;
  std::optional<store::Run> latest;
  for (store::Run& run :
       catalog.runs(*name, SIZE_MAX, store::RunDetail::all, store::RunRanks::first)) {
    if (run.start.repository != place || !counts(run)) continue;
    if (!head.empty() && run.start.commit == head) return std::move(run);
    if (!latest) latest = std::move(run);
  }
  return latest;
}

/// The run that a replay means, among those for which `counts` is true.
template <typename Counts>
std::optional<store::Run> latest_here(const store::Catalog& catalog, const Surroundings& here,
                                      const std::optional<Program>& program,
                                      const Counts& counts) {
  const auto is_at_head = [&](const store::Run& run) {
    return counts(run) && run.start.commit == here.head;
  };
  if (program) {
    if (!here.head.empty()) {
      if (auto run = latest_run_of(catalog, *program, here.place, is_at_head)) return run;
    }
    for (const std::string& place : {here.place, here.directory}) {
      if (auto run = latest_run_of(catalog, *program, place, counts)) return run;
    }
  }
  if (auto run = latest_of_name(catalog, here.place, here.head, counts)) return run;
  return latest_of_name(catalog, here.directory, {}, counts);
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

void leave_out_fetched(std::vector<store::Run>& runs) {
  const auto is_fetched = [](const store::Run& run) { return run.origin.from_elsewhere(); };
  if (!std::ranges::all_of(runs, is_fetched)) std::erase_if(runs, is_fetched);
}

std::string interpreter_of(const store::Run& run) {
  const auto found = run.start.environment.find(kInterpreterFact);
  return found == run.start.environment.end() ? std::string() : found->second;
}

void require_recording_program(const store::Run& run, std::string_view work) {
  if (!run.start.program.empty() && !run.start.command.empty()) return;
  throw NotFound(fmt::format("run {} was not recorded by a program: there is nothing to {}",
                             run.key.substr(0, kDigitsOfKey), work));
}

Program program_of(const store::Catalog& catalog, const store::Run& run) {
  Program program{.path = run.start.program, .recipe = {}};
  if (const auto build = catalog.build(run.id)) {
    try {
      program.recipe = BuildRecipe::decode(build->recipe);
    } catch (const Error&) {  // written by another version of Flor: the path identifies it
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
  for (const bool fetched : {false, true}) {
    const auto counts = [&](const store::Run& run) {
      return has_ended(run) && run.origin.from_elsewhere() == fetched;
    };
    if (auto run = latest_here(catalog, here, program, counts)) return run;
  }
  return std::nullopt;
}

store::Run resolve_for(const store::Catalog& catalog, std::string_view spec,
                       const Program& program) {
  store::Run run = catalog.resolve(spec);
  if (spec != run.start.experiment || program.is(program_of(catalog, run))) return run;
  auto own = latest_run_of(catalog, program, {}, [&](const store::Run& other) {
    return other.start.experiment == run.start.experiment &&
           other.origin.from_elsewhere() == run.origin.from_elsewhere();
  });
  return own ? *std::move(own) : run;
}

std::string fetched_namesakes(const store::Catalog& catalog, std::string_view spec) {
  const std::vector<store::Run> runs = catalog.passed_over(spec);
  if (runs.empty()) return {};
  constexpr std::size_t kNamed = 3;
  std::string keys;
  for (std::size_t i = 0; i < std::min(runs.size(), kNamed); ++i) {
    keys += (i > 0 ? ", " : "") + runs[i].key.substr(0, kDigitsOfKey);
  }
  if (runs.size() == 1) {
    return fmt::format("run {}, fetched from {}, is called {}, too: only its id means it", keys,
                       runs.front().origin.from, runs.front().start.experiment);
  }
  return fmt::format("{} fetched runs are called {}, too: only their ids mean them ({}{})",
                     runs.size(), runs.front().start.experiment, keys,
                     runs.size() > kNamed ? ", ..." : "");
}

std::string of_another_program(const store::Catalog& catalog, const store::Run& run,
                               const Program& program, std::string_view option) {
  const Program other = program_of(catalog, run);
  const std::string& place = run.start.repository;
  if (program.is(other)) return {};
  const auto latest = latest_run_of(catalog, program, place, has_ended);
  // The recording program may be this one, renamed or built elsewhere.
  if (!latest && !std::filesystem::exists(other.path)) return {};
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
