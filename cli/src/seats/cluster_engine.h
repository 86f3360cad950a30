// Workers of a replay on other machines, in seats that Slurm or ssh has started.
#pragma once

#include "launch/seat_starter.h"
#include "replay/engine.h"
#include "replay/progress.h"
#include "seats/seat_session.h"

#include <memory>

namespace flor::cli {

/// `session` has the snapshot; all arguments must outlive the engine. Submits at once, and throws
/// Error if that is refused. The seats' own messages count, not the starter's reports about them: a
/// worker is lost when its seat says so, or has been silent for `Work::patience`.
std::unique_ptr<Engine> cluster_engine(Session& session, const EngineWish& wish,
                                       const ReplayRequest& request, Progress& progress);

/// Seconds of silence after which a seat or a watch counts as gone: $FLOR_PATIENCE, or 40.
double cluster_patience();

}  // namespace flor::cli
