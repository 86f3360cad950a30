// Samples of what the machine did while a run was recorded: numbers in series of their own, which
// are no metrics, and which no question about values sees unless it names them.
#pragma once

#include "index/values/printed.h"

#include <flor/store/catalog.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace flor::store {

/// Users ask for "machine/cpu". A run that logged a metric of that name has that under it.
inline constexpr std::string_view kMachineNames = "machine/";
/// Followed by the name of the measure, as in runtime/machine/measures.h.
inline constexpr std::string_view kMachineSeries = "flor:machine/";

/// A sample. Its place is its time: `seconds` since the run began stand for the step.
Value machine_value(std::string_view name, std::int64_t epoch, std::int64_t seconds, double value);

/// Whether a metric that is asked for may be a series of samples.
inline bool is_machine_name(std::string_view asked) { return asked.starts_with(kMachineNames); }

}  // namespace flor::store
