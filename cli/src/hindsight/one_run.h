// One run, replayed: from the request to the result.
#pragma once

#include "launch/seat_starter.h"
#include "replay/replay_coordinator.h"
#include "replay/replay_text.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

class Context;

/// How to replay, as set by the options of `flor replay`.
struct ReplayWish {
  std::string gpus, epochs, plugin;
  std::vector<std::string> probes;
  std::optional<std::uint64_t> workers, threads;
  std::optional<std::uint64_t> rank;  ///< of a group, replayed alone
  bool no_probe = false, strong = false, again = false, verbose = false;
  bool coarse = false;        ///< a tenth of the epochs first
  bool verify = false;        ///< an epoch, however long it takes
  std::string verify_epochs;  ///< N, all or none

  detail::VerifyWish verification() const;
  EngineWish engine;
  std::string from;  ///< an object store that workers elsewhere fetch the run from; or nothing

  std::optional<int> threads_given() const {
    return threads ? std::optional(static_cast<int>(*threads)) : std::nullopt;
  }
};

/// Throws UsageError for errors that do not depend on the run: numbers out of range, malformed
/// epochs.
void check_wish(const ReplayWish& wish);

/// "a,b" as {"a", "b"}.
std::vector<std::string> split_list(std::string_view text);

/// The program that replays a run, as each rank of its group is started.
struct ChosenLaunches {
  std::vector<Launch> launches;
  bool as_recorded = false;                  ///< see ProgramChoice
  std::string sources;                       ///< of the version built for it; empty: none was
  std::shared_ptr<VersionWithTree> version;  ///< that version
};

/// The request to replay `run` and the other ranks of its group, or only `epoch`. `choose` is
/// called with all ranks, once it is known that there is something to replay. Throws UsageError for
/// a wish that does not fit the run, Busy while it is being recorded, NotFound if it has no epoch.
ReplayRequest replay_request(
    Context& context, const store::Run& run, std::optional<std::int64_t> epoch,
    const ReplayWish& wish,
    const std::function<ChosenLaunches(const std::vector<store::Run>&)>& choose);

/// The parts that were asked for and that not all ranks have answered yet.
std::set<std::int64_t> parts_to_do(const store::Catalog& catalog, const ReplayRequest& request);

struct RunReplay {
  ReplayRequest request;
  ReplayOutcome outcome;
  ReplaySummary summary;

  /// As docs/cli.md specifies for `flor replay`.
  ExitStatus status() const;
};
/// Runs the replay, and stores its findings.
RunReplay replay_run(Context& context, ReplayRequest request);

}  // namespace flor::cli
