#include "program_of_run.h"

#include <flor/store/error.h>

#include <filesystem>

namespace flor::detail {

bool Program::is(const Program& other) const {
  if (path == other.path) return true;
  return recipe && other.recipe && recipe->target == other.recipe->target &&
         recipe->source_directory == other.recipe->source_directory;
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

std::optional<bool> same_sources(const Program& a, const Program& b) {
  if (!a.recipe || !b.recipe || a.recipe->sources.empty() || b.recipe->sources.empty()) {
    return std::nullopt;
  }
  return a.recipe->target == b.recipe->target && a.recipe->flags == b.recipe->flags &&
         a.recipe->sources == b.recipe->sources;
}

}  // namespace flor::detail
