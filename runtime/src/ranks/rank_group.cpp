#include "ranks/rank_group.h"

#include "base/process_facts.h"
#include "base/settings.h"
#include "index/catalog/rank_launch.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace flor::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

double timeout_seconds() { return std::stod(store::Settings::read().get("rank_timeout").value); }

/// Calls `look` until it returns something, or `longest` seconds have passed.
template <typename Look>
auto poll(double longest, const Look& look) -> decltype(look()) {
  const auto began = steady_clock::now();
  for (auto pause = milliseconds(2);; pause = std::min(pause * 2, milliseconds(50))) {
    if (auto found = look()) return found;
    if (steady_clock::now() - began >= std::chrono::duration<double>(longest)) return {};
    std::this_thread::sleep_for(pause);
  }
}

/// Whether rank 0's run belongs to this start. Rank 0 must be running, or have run: a program
/// without collectives may be over before other ranks begin. An earlier start on the same port
/// began long before this process. How late a rank may join a running rank 0 is not limited.
bool is_of_this_start(store::Store& store, const store::Run& first, const store::RankLaunch& launch,
                      std::int64_t own_start_us) {
  if (first.state == store::RunState::running) return store::is_present(store, launch);
  constexpr std::int64_t kApart = 10'000'000;  // microseconds between the processes of one start
  return first.state == store::RunState::finished && launch.started_us >= own_start_us - kApart;
}

}  // namespace

std::string launch_text(const Ranks& ranks, const std::filesystem::path& place) {
  return fmt::format("{} {}", ranks.launch, place.string());
}

store::RankLaunch await_first_rank(store::Store& store, const Ranks& ranks,
                                   const std::string& launch) {
  const store::Catalog& catalog = store.catalog();
  const std::int64_t began_us = now_us();
  const double longest = timeout_seconds();
  const auto found = poll(longest, [&]() -> std::optional<store::RankLaunch> {
    auto candidate = catalog.find_launch(launch);
    if (!candidate || catalog.has_joined(candidate->group, ranks.rank)) return std::nullopt;
    const auto first = catalog.run(candidate->group);
    if (!first || !is_of_this_start(store, *first, *candidate, began_us)) return std::nullopt;
    return candidate;
  });
  if (found) return *found;
  throw Error(fmt::format(
      "rank {} of {}: rank 0 did not begin to record within {}: record with all ranks and one "
      "store, or unset RANK and WORLD_SIZE",
      ranks.rank, ranks.world, print_seconds(longest)));
}

std::optional<store::Run> earlier_run(const store::Catalog& catalog, std::int64_t group,
                                      std::int64_t rank) {
  for (store::Run& run : catalog.ranks(group)) {
    if (run.start.rank->rank == rank) return std::move(run);
  }
  return std::nullopt;
}

store::Run after_its_end(const store::Catalog& catalog, const store::Run& run) {
  constexpr double kDying = 2;  // seconds
  store::Run now = run;
  poll(kDying, [&] {
    now = catalog.run(run.id).value_or(run);
    return now.state != store::RunState::running;
  });
  catalog.follow();  // reads its last events; without an end it counts as interrupted
  return catalog.run(run.id).value_or(now);
}

void await_end_of_ranks(const store::Catalog& catalog, std::int64_t group) {
  constexpr double kDying = 10;  // seconds
  std::string running;
  const bool ended = poll(kDying, [&] {
    running.clear();
    for (const store::Run& run : catalog.ranks(group)) {
      if (run.start.rank->rank > 0 && run.state == store::RunState::running) {
        running = fmt::format("{}, run {}", print_rank(*run.start.rank), run.key.substr(0, 8));
      }
    }
    return running.empty();
  });
  if (!ended) throw Busy(fmt::format("{} is still being recorded: end it first", running));
  if (!catalog.follow()) {
    throw Busy("the group cannot be resumed while the catalog cannot be written: try again");
  }
}

}  // namespace flor::detail
