// Verifying what a replay found, here or earlier: a worker executes some of its epochs.
#pragma once

#include "commands/replay_text.h"
#include "replay/coordinator.h"

namespace flor::cli {

/// Enters what comes of it, and changes the summary accordingly.
void verify(store::Store& store, const ReplayRequest& request, const ReplayOutcome& outcome,
            ReplaySummary& summary);

}  // namespace flor::cli
