// Runs the workers of a replay on other machines, in seats started by Slurm or ssh.
#pragma once

#include "launch/seat_starter.h"
#include "replay/engine.h"
#include "replay/progress.h"
#include "seats/seat_session.h"

#include <memory>

namespace flor::cli {

/// All arguments must outlive the engine; `session` already has the snapshot. Submits the seats at
/// once, and throws Error if that is refused. Only the seats' own messages count, not what Slurm or
/// ssh report about them: a worker is lost when its seat says so, or has been silent for
/// `Work::patience`.
std::unique_ptr<Engine> cluster_engine(SeatSession& session, const EngineWish& wish,
                                       const ReplayRequest& request, Progress& progress);

/// Seconds of silence after which a seat or a watch counts as dead: $FLOR_PATIENCE, or 40.
double cluster_patience();

}  // namespace flor::cli
