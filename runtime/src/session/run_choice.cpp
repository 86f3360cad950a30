#include "session/run_choice.h"

#include "base/hosted_program.h"
#include "base/notice.h"
#include "git/shadow.h"
#include "protocol/flag_names.h"
#include "ranks/rank_group.h"
#include "session/build_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace flor::detail {
namespace {

store::Run latest_run(const store::Catalog& catalog) {
  const Surroundings here = surroundings();
  if (auto run = run_meant(catalog, here, this_program())) return *std::move(run);
  const auto name = catalog.last_name(here.place);
  if (!name) {
    throw NotFound(fmt::format(
        "no run was recorded in {}: record one with --flor NAME, or name one with --flor_run RUN",
        here.place));
  }
  throw NotFound(
      fmt::format("no run of '{}' in {} has ended yet: wait for it, or name another with "
                  "--flor_run RUN",
                  *name, here.place));
}

/// Whether the job has as many ranks as the run, without which the run cannot be resumed.
bool has_ranks_of(const store::Run& run, const std::optional<Ranks>& ranks) {
  return run.start.rank ? ranks && ranks->world == run.start.rank->world : !ranks;
}

bool can_be_resumed(const store::Run& run) {
  return run.state == store::RunState::interrupted || run.state == store::RunState::failed;
}

/// The words of a command line, without the program and the option for checking a resume.
std::vector<std::string> words_of_run(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string flag = canonical_flag(command[i].substr(0, command[i].find('=')));
    if (flag != "--flor_check") {
      words.push_back(command[i]);
    } else if (flag.size() == command[i].size()) {
      ++i;
    }
  }
  return words;
}

/// Whether the run was recorded with the same arguments, as when a job script is started again.
bool has_command(const store::Run& run, const std::vector<std::string>& command) {
  return words_of_run(run.start.command.words()) ==
         words_of_run(store::RecordedCommand(command).words());
}

/// Keeps only the runs of this program, if it has any under the name that several programs share.
void keep_own_program(const store::Catalog& catalog, std::vector<store::Run>& runs) {
  const Program program = this_program();
  const auto is_own = [&](const store::Run& run) { return program.is(program_of(catalog, run)); };
  if (std::ranges::any_of(runs, is_own)) {
    std::erase_if(runs, [&](const store::Run& run) { return !is_own(run); });
  }
}

std::string nothing_to_resume(const store::Run& latest, const std::vector<store::Run>& runs) {
  const auto other = std::ranges::find_if(runs, can_be_resumed);
  const std::string advice =
      other == runs.end()
          ? std::string("there is nothing to resume")
          : fmt::format("an earlier one was interrupted: --flor_resume --flor_run {}",
                        other->key.substr(0, 8));
  return fmt::format("run {} of '{}' has finished: {}", latest.key.substr(0, 8),
                     latest.start.experiment, advice);
}

void leave_running_alone(std::vector<store::Run>& runs) {
  const auto is_running = [](const store::Run& run) {
    return run.state == store::RunState::running;
  };
  if (!runs.empty() && is_running(runs.front())) {
    say(Level::warn, fmt::format("run {} of the same command is still being recorded: it is not "
                                 "resumed",
                                 runs.front().key.substr(0, 8)));
  }
  std::erase_if(runs, is_running);
}

}  // namespace

Program this_program() { return {.path = program_file().string(), .recipe = program_recipe()}; }

std::optional<std::string> last_name(const store::Catalog& catalog, const std::string& place) {
  const auto own =
      latest_run_of(catalog, this_program(), place, [](const store::Run&) { return true; });
  return own ? std::optional(own->start.experiment) : catalog.last_name(place);
}

std::optional<store::Run> run_to_resume(const store::Catalog& catalog, const Flags& flags,
                                        const std::string& place) {
  const bool automatic = flags.resume == Resume::automatic;
  std::vector<store::Run> runs;
  if (!flags.run.empty()) {
    runs.push_back(catalog.resolve(flags.run));
    require_recording_program(runs.front(), "resume");
  } else {
    // The place of runs without git.
    const std::string here = std::filesystem::current_path().string();
    auto name = flags.name.empty() ? last_name(catalog, place) : std::optional(flags.name);
    if (!name) name = last_name(catalog, here);
    if (name) {
      runs = catalog.runs(*name, SIZE_MAX, store::RunDetail::all, store::RunRanks::first);
    }
    const auto ranks = ranks_here();
    std::erase_if(runs, [&](const store::Run& run) {
      return (run.start.repository != place && run.start.repository != here) ||
             (automatic && (run.origin.from_elsewhere() || !has_ranks_of(run, ranks) ||
                            !has_command(run, flags.command)));
    });
    leave_out_fetched(runs);
    keep_own_program(catalog, runs);
    if (runs.empty() && !automatic) {
      throw NotFound(fmt::format("no run {}was recorded in {}: there is nothing to resume",
                                 name ? fmt::format("of '{}' ", *name) : "", place));
    }
  }
  if (!runs.empty()) runs.front() = after_its_end(catalog, runs.front());
  if (automatic) leave_running_alone(runs);
  if (runs.empty()) return std::nullopt;
  store::Run latest = run_of_this_rank(catalog, runs.front(), "resume");
  if (latest.start.rank && latest.state != store::RunState::running) {
    await_end_of_ranks(catalog, latest.start.rank->group);
  }
  latest.state = catalog.group_state(latest);
  if (can_be_resumed(latest)) return latest;
  if (automatic) return std::nullopt;
  if (latest.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is still being recorded: resume it when it has ended",
                           latest.key.substr(0, 8)));
  }
  throw NotFound(nothing_to_resume(latest, runs));
}

store::Run run_meant_by(const store::Catalog& catalog, const Flags& flags) {
  return run_of_this_rank(
      catalog,
      flags.run.empty() ? latest_run(catalog) : resolve_for(catalog, flags.run, this_program()),
      "replay");
}

store::Run run_to_replay(const store::Catalog& catalog, const Flags& flags) {
  if (!flags.run.empty()) {
    if (const std::string others = fetched_namesakes(catalog, flags.run); !others.empty()) {
      say(Level::warn, others);
    }
  }
  store::Run run = run_meant_by(catalog, flags);
  require_recording_program(run, "replay");
  if (run.state == store::RunState::running) {
    throw Busy(fmt::format("run {} is still being recorded: replay it when it has ended",
                           run.key.substr(0, 8)));
  }
  const std::string other = of_another_program(catalog, run, this_program(), "--flor_run");
  if (!other.empty()) say(Level::warn, other);
  return run;
}

}  // namespace flor::detail
