// Replays one run: turns the options into a request, executes it, and stores the findings.
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

/// The options of `flor replay`.
struct ReplayWish {
  std::string gpus, plugin;
  std::string epochs;  ///< --epochs: a list, or sample:N
  std::string steps;   ///< --step: a list, or sample:N; empty: all
  std::vector<std::string> probes;
  std::vector<std::string> overrides;  ///< --override: NAME=VALUE
  std::optional<std::uint64_t> workers, threads;
  std::optional<std::uint64_t> rank;  ///< a rank of the group, to be replayed alone
  bool no_probe = false, strong = false, again = false, verbose = false;
  bool check = false;         ///< --check: execute every nested loop, for comparison alone
  bool coarse = false;        ///< --coarse: a tenth of the epochs first, spread over the run
  bool verify = false;        ///< --verify: execute an epoch for comparison, however long it takes
  std::string verify_epochs;  ///< how many epochs to execute for comparison: N, all or none

  detail::VerifyWish verification() const;
  /// Throws UsageError for a malformed --step.
  detail::StepChoice chosen_steps() const;
  EngineWish engine;
  std::string from;  ///< an object store from which workers on other machines fetch the run; may be
                     ///< empty

  /// Throws UsageError for an override without a name or a value.
  detail::Instead instead() const;
  std::optional<int> threads_given() const {
    return threads ? std::optional(static_cast<int>(*threads)) : std::nullopt;
  }
};

/// Throws UsageError for errors that do not depend on the run, such as numbers out of range and
/// malformed epochs.
void check_wish(const ReplayWish& wish);

/// Splits "a,b" into {"a", "b"}.
std::vector<std::string> split_list(std::string_view text);

/// The program that replays a run, with a launch for each rank of its group.
struct ChosenLaunches {
  std::vector<Launch> launches;
  bool as_recorded = false;                  ///< see ProgramChoice
  std::string sources;                       ///< root of the work tree of the version that was
                                             ///< built for the replay; empty: none was built
  std::shared_ptr<VersionWithTree> version;  ///< the version that was built; keeps the lock of its
                                             ///< tree
};

/// The request to replay `run` with the other ranks of its group, all its epochs or only `epoch`.
/// Calls `choose` with all ranks as soon as it is known that there is something to replay. Throws
/// UsageError for options that do not fit the run, Busy while the run is being recorded, NotFound
/// if it has no such epoch.
ReplayRequest replay_request(
    Context& context, const store::Run& run, std::optional<std::int64_t> epoch,
    const ReplayWish& wish,
    const std::function<ChosenLaunches(const std::vector<store::Run>&)>& choose);

/// The requested parts (epochs and stretches outside loops) that some rank has not answered yet.
std::set<std::int64_t> parts_to_do(const store::Catalog& catalog, const ReplayRequest& request);

struct RunReplay {
  ReplayRequest request;
  ReplayOutcome outcome;
  ReplaySummary summary;

  /// The exit status that docs/cli.md specifies for `flor replay`.
  ExitStatus status() const;
  bool compared_nothing() const;
};
/// Executes the replay and stores its findings.
RunReplay replay_run(Context& context, ReplayRequest request);

}  // namespace flor::cli
