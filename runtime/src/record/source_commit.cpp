#include "record/source_commit.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "base/text.h"
#include "session/build_facts.h"
#include "session/run_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace flor::detail {
namespace {

/// Replaces control characters, since a trailer of a commit message is one line.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  }
  return text;
}

/// The commit message, with trailers that `git log --format='%(trailers)'` shows.
std::string commit_message(const store::NewRun& run, const Flags& flags) {
  std::string arguments;
  for (const auto& [name, value] : flags.kwargs) {
    arguments += fmt::format("{}{}={}", arguments.empty() ? "" : " ", name,
                             store::masked_value(name, value));
  }
  const std::string experiment = one_line(run.experiment);
  std::string message =
      fmt::format("flor: {}\n\nFlor-Run: {}\nFlor-Experiment: {}\nFlor-Command: {}\n", experiment,
                  run.key, experiment, one_line(run.command.text()));
  if (!arguments.empty()) message += fmt::format("Flor-Args: {}\n", one_line(arguments));
  return message;
}

/// Removes secrets from the recipe: a build that needs them has to get them from its environment.
void leave_secrets_out(BuildRecipe& recipe) {
  const auto is_secret = [](const std::string& name, const std::string& value) {
    return store::masked_value(name, value) != value;
  };
  std::erase_if(recipe.cache, [&](const CacheVariable& variable) {
    return is_secret(variable.name, variable.value);
  });
  std::erase_if(recipe.environment,
                [&](const auto& variable) { return is_secret(variable.first, variable.second); });
  recipe.flags = store::masked(recipe.flags);
}

/// Names the files that were left out in one line. If they are too many to read, names some, and
/// the file that lists all.
void tell_of_secrets(const git::ShadowCommit& commit) {
  if (commit.secrets.empty()) return;
  constexpr std::size_t kReadable = 8000;
  std::string names;
  std::size_t named = 0;
  for (; named < commit.secrets.size() && names.size() < kReadable; ++named) {
    names += (names.empty() ? "" : ", ") + commit.secrets[named];
  }
  const std::size_t more = commit.secrets.size() - named;
  if (more > 0) names += fmt::format(" and {} more, all of them in {}", more, commit.secrets_file);
  const bool one = commit.secrets.size() == 1;
  say(Level::warn,
      fmt::format("not committed: {} untracked {} like {}: {}; git add NAME, or !NAME in "
                  "flor.exclude, keeps {}",
                  commit.secrets.size(), one ? "file that looks" : "files that look",
                  one ? "a secret" : "secrets", names, one ? "it" : "one"));
}

}  // namespace

std::optional<store::RunBuild> build_of_program(const std::optional<git::Repository>& repository) {
  auto recipe = program_recipe();
  if (!recipe) return std::nullopt;
  leave_secrets_out(*recipe);
  store::RunBuild build{.recipe = recipe->encode(), .remark = {}};
  build.remark =
      why_of_other_sources(repository ? repository->work_tree() : std::filesystem::path(),
                           repository ? repository->head().value_or("") : std::string());
  if (!build.remark.empty()) {
    say(Level::warn, fmt::format("{} {}: the recorded sources are not those it was built "
                                 "from; build it again before you record",
                                 executable().filename().string(), build.remark));
  }
  return build;
}

std::string commit_sources(git::Repository& repository, const store::NewRun& run,
                           const Flags& flags, store::Store& store) {
  git::CommitOptions options;
  options.message = commit_message(run, flags);
  options.without = {store.home()};  // a store inside the work tree is not part of the sources
  if (const auto recipe = program_recipe()) options.built = {recipe->build_directory};
  options.outputs = store.catalog().outputs(repository.work_tree().string(), this_program().key());
  const git::ShadowCommit commit = repository.commit_work_tree(options);
  if (commit.added.files > 0) {
    say(Level::result,
        fmt::format("committed for the first time: {} file{}, {}, the largest {} ({}); .gitignore "
                    "leaves files out",
                    commit.added.files, commit.added.files == 1 ? "" : "s",
                    store::print_bytes(commit.added.bytes), commit.added.largest,
                    store::print_bytes(commit.added.largest_bytes)));
  }
  if (commit.outputs.files > 0) {
    const bool one = commit.outputs.files == 1;
    say(Level::result,
        fmt::format("not committed: {} file{} that the program wrote in earlier runs, {}, the "
                    "largest {} ({}); git add keeps {}",
                    commit.outputs.files, one ? "" : "s", store::print_bytes(commit.outputs.bytes),
                    commit.outputs.largest, store::print_bytes(commit.outputs.largest_bytes),
                    one ? "it" : "one"));
  }
  tell_of_secrets(commit);
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(commit.left_out.size(), kNamed); ++i) {
    say(Level::warn, fmt::format("not committed: {}", commit.left_out[i]));
  }
  if (commit.left_out.size() > kNamed) {
    say(Level::warn, fmt::format("not committed: {} more files (add them to .gitignore, or to git)",
                                 commit.left_out.size() - kNamed));
  }
  say(Level::info,
      fmt::format("sources are commit {} of {}", commit.id.substr(0, 10), git::kShadowBranch));
  return commit.id;
}

}  // namespace flor::detail
