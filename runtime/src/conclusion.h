// What a replay says when it ends.
#pragma once

#include "flags.h"
#include "protocol.h"
#include "verdict.h"

#include <flor/store/catalog.h>

#include <vector>

namespace flor::detail {

/// Says what was done, what was compared, and where the first differences are.
void conclude(const std::vector<Epochs>& epochs, double seconds, const WorkDone& work,
              const Comparison& comparison, const store::Run& run, const Flags& flags);

}  // namespace flor::detail
