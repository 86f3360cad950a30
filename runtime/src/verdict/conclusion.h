// The lines that a replay prints at its end.
#pragma once

#include "protocol/flags.h"
#include "protocol/protocol.h"
#include "protocol/verdict_text.h"
#include "verdict/verdict.h"

#include <flor/store/catalog.h>

#include <vector>

namespace flor::detail {

/// Prints how many epochs and loops were executed, skipped and loaded.
void conclude_work(const std::vector<Epochs>& epochs, double seconds, const WorkDone& work,
                   const FoundValues& found, const Flags& flags);
/// Prints the result of the comparison with the record, and the first differences.
void conclude(const store::ReplayResult& result, const FoundValues& found,
              const Comparison& comparison, const store::Run& run, const Flags& flags);

}  // namespace flor::detail
