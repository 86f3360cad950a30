#include "run_choice.h"

#include "git/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace flor::detail {
namespace {

bool can_be_replayed(const store::Run& run) { return run.state != store::RunState::running; }

/// The run that --replay_flor means without --flor_run: the latest that has ended, of the
/// experiment that was recorded here last; of the version that is checked out, if that is a
/// recorded one.
store::Run latest_run(const store::Catalog& catalog) {
  const auto repository = git::Repository::discover(std::filesystem::current_path());
  const std::string place =
      repository ? repository->work_tree().string() : std::filesystem::current_path().string();
  const auto name = catalog.last_name(place);
  if (!name) {
    throw NotFound(fmt::format(
        "no run was recorded in {}: record one with --flor NAME, or name one with --flor_run RUN",
        place));
  }
  std::vector<store::Run> runs = catalog.runs(*name);
  std::erase_if(runs, [](const store::Run& run) { return !can_be_replayed(run); });
  if (runs.empty()) {
    throw NotFound(fmt::format(
        "no run of '{}' has ended yet: wait for it, or name another with --flor_run RUN", *name));
  }
  const std::string head = repository ? repository->head().value_or("") : "";
  const auto at_head =
      std::ranges::find_if(runs, [&](const store::Run& run) { return run.start.commit == head; });
  return !head.empty() && at_head != runs.end() ? *at_head : runs.front();
}

}  // namespace

store::Run run_to_replay(const store::Catalog& catalog, const Flags& flags) {
  if (flags.run.empty()) return latest_run(catalog);
  store::Run run = catalog.resolve(flags.run);
  if (!can_be_replayed(run)) {
    throw Busy(fmt::format("run {} is still being recorded: replay it when it has ended",
                           run.key.substr(0, 8)));
  }
  return run;
}

}  // namespace flor::detail
