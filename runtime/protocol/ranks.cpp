#include "protocol/ranks.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace flor::detail {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

struct Names {
  const char* rank;
  const char* world;
};

/// The names of the variables that hold rank and size; nothing for a process that is alone.
std::optional<Names> names_here() {
  if (!variable("RANK").empty() && !variable("WORLD_SIZE").empty()) {
    return Names{"RANK", "WORLD_SIZE"};
  }
  if (variable("MASTER_ADDR").empty() || variable("SLURM_PROCID").empty()) return std::nullopt;
  const char* world =
      variable("SLURM_STEP_NUM_TASKS").empty() ? "SLURM_NTASKS" : "SLURM_STEP_NUM_TASKS";
  if (variable(world).empty()) return std::nullopt;
  return Names{"SLURM_PROCID", world};
}

bool are_on_one_machine(std::int64_t world) {
  if (const auto local = number(variable("LOCAL_WORLD_SIZE"))) return *local == world;
  if (const auto nodes = number(variable("SLURM_STEP_NUM_NODES"))) return *nodes == 1;
  return true;
}

}  // namespace

std::optional<Ranks> ranks_here() {
  const auto names = names_here();
  if (!names) return std::nullopt;
  const auto rank = number(variable(names->rank)), world = number(variable(names->world));
  if (!rank || !world || *rank < 0 || *rank >= *world) {
    throw UsageError(fmt::format(
        "{}={} {}={}: expected a rank from 0 to the number of ranks less one; unset both for a "
        "process that is alone",
        names->rank, variable(names->rank), names->world, variable(names->world)));
  }
  if (*world == 1) return std::nullopt;
  Ranks ranks{.rank = *rank, .world = *world, .one_machine = are_on_one_machine(*world)};
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
                           "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    ranks.launch += fmt::format("{} ", variable(name));
  }
  ranks.launch += std::to_string(*world);
  return ranks;
}

store::Run run_of_this_rank(const store::Catalog& catalog, store::Run run, std::string_view what) {
  const auto here = ranks_here();
  const auto& recorded = run.start.rank;
  if (!here && !recorded) return run;
  const std::int64_t then = recorded ? recorded->world : 1, now = here ? here->world : 1;
  if (then != now) {
    throw UsageError(fmt::format(
        "run {} was recorded by {} rank{}, and {} here: {} it with as many{}", run.key.substr(0, 8),
        then, then == 1 ? "" : "s", now == 1 ? "there is one process" : fmt::format("{} are", now),
        what,
        what == "replay" && then > 1
            ? fmt::format(" (RANK and WORLD_SIZE), or by flor replay {}", run.key.substr(0, 8))
            : ""));
  }
  if (recorded->rank == here->rank) return run;
  for (store::Run& other : catalog.ranks(recorded->group)) {
    if (other.start.rank->rank == here->rank) return std::move(other);
  }
  throw NotFound(fmt::format("rank {} of the group of run {} is not in the store any more",
                             here->rank, run.key.substr(0, 8)));
}

std::string print_rank(const store::RankPlace& place) {
  return fmt::format("rank {} of {}", place.rank, place.world);
}

}  // namespace flor::detail
