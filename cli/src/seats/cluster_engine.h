// Workers of a replay on other machines, in seats that Slurm or ssh has started.
#pragma once

#include "launch/seat_starter.h"
#include "replay/engine.h"
#include "replay/progress.h"
#include "seats/seat_session.h"

#include <memory>

namespace flor::cli {

/// `session` has the snapshot; everything must outlive the engine. Submits at once, and throws
/// Error where that is refused. Whoever sits in a seat is believed, not what the starter says of
/// it: a worker is lost when its seat says so, or has been silent for `Work::patience`.
std::unique_ptr<Engine> cluster_engine(Session& session, const EngineWish& wish,
                                       const ReplayRequest& request, Progress& progress);

/// Seconds after which somebody who is silent counts as gone: $FLOR_PATIENCE, or 40.
double cluster_patience();

}  // namespace flor::cli
