// Which run a program means with --replay_flor and --flor_run.
#pragma once

#include "flags.h"

#include <flor/store/catalog.h>

namespace flor::detail {

/// The run that is to be replayed. Throws NotFound if there is none, Busy if it is still being
/// recorded.
store::Run run_to_replay(const store::Catalog& catalog, const Flags& flags);

}  // namespace flor::detail
