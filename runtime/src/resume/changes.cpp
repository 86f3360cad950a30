#include "resume/changes.h"

#include "base/hosted_program.h"
#include "base/process_facts.h"
#include "git/shadow.h"
#include "session/run_choice.h"

#include <flor/adapter.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace flor::detail {

void refuse_changed(const store::Run& run, const std::vector<ChangedArgument>& changed) {
  if (changed.empty()) return;
  const ChangedArgument& first = changed.front();
  throw UsageError(fmt::format(
      "--kwargs {}={}: run {} was started with {}={}, and a run keeps its arguments when it is "
      "resumed; --flor_from {} begins a new run from it with others",
      first.name, first.given, run.key.substr(0, 8), first.name, first.recorded,
      run.key.substr(0, 8)));
}

bool has_other_sources(const store::Catalog& catalog, const store::Run& run,
                       const std::string& last, const std::string& commit) {
  if (const auto same = same_sources(program_of(catalog, run), this_program())) {
    return !*same;
  }
  if (last.empty() || commit.empty()) return true;
  const auto repository = git::Repository::discover(std::filesystem::current_path());
  return !repository || !repository->commit(last) ||
         std::ranges::any_of(repository->changes(last, commit), [](const git::FileChange& change) {
           return is_source_of_program(change.path) || is_source_of_program(change.old_path);
         });
}

std::string fork_changes(const store::Catalog& catalog, const ForkPoint& from, const Flags& flags,
                         const std::string& commit, const std::vector<ChangedArgument>& changed) {
  const store::Run& parent = from.parent;
  std::vector<std::string> all;
  for (const ChangedArgument& argument : changed) {
    all.push_back(fmt::format("{}={} (it had {})", argument.name, argument.given,
                              argument.recorded));
  }
  const Flags before = flags_of_command(parent.start.command.words());
  const std::vector<store::Argument> recorded = catalog.arguments(parent.id);
  for (const auto& [name, value] : flags.kwargs) {
    if (before.kwargs.contains(name) ||
        std::ranges::find(recorded, name, &store::Argument::name) != recorded.end()) {
      continue;
    }
    all.push_back(fmt::format("{}={} (it had none)", name, store::masked_value(name, value)));
  }
  if (own_arguments(flags.command) != own_arguments(parent.start.command.words())) {
    all.push_back("other arguments of the program's own");
  }
  const auto resumed = catalog.resumptions(parent.id);
  const std::string& last = resumed.empty() ? parent.start.commit : resumed.back().commit;
  const std::string& program =
      resumed.empty() ? parent.start.program_digest : resumed.back().program_digest;
  if (commit != last && has_other_sources(catalog, parent, last, commit)) {
    all.push_back(fmt::format("other sources (commit {} instead of {})",
                              commit.empty() ? "none" : commit.substr(0, 10),
                              last.empty() ? "none" : last.substr(0, 10)));
  } else if (store::file_digest(program_file()) != program) {
    all.push_back("another build of the program");
  }
  for (const ChangedFact& fact : changed_facts(parent.start.environment, environment())) {
    all.push_back(fmt::format("{} is {} (it was {})", fact.name, fact.after, fact.before));
  }
  return fmt::to_string(fmt::join(all, ", "));
}

bool has_one_program(const store::Catalog& catalog, const store::Run& run) {
  const auto fork = catalog.fork(run.id);
  if (fork && !fork->exact) return false;
  return std::ranges::all_of(catalog.resumptions(run.id), [&](const store::Resumption& later) {
    return later.program_digest == run.start.program_digest && later.commit == run.start.commit;
  });
}

std::string experiment_of_fork(const store::Catalog& catalog, const Flags& flags) {
  if (!flags.name.empty() || flags.from.empty()) return flags.name;
  try {
    return parent_of_fork(catalog, flags.from).run.start.experiment;
  } catch (const NotFound&) {
    return {};  // a fork that is being resumed does not need the name
  }
}

void put_back_environment(const store::Run& run) {
  const auto threads = run.start.environment.find("threads");
  if (adapter().set_threads && threads != run.start.environment.end()) {
    // The record of a fetched run may have any text here.
    constexpr int kThreadsMax = 4096;
    const int number = std::atoi(threads->second.c_str());
    if (number > 0 && number <= kThreadsMax) adapter().set_threads(number);
  }
  put_back_generators(run.start.environment);
}

}  // namespace flor::detail
