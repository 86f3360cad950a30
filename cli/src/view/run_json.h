// JSON objects that describe a run as docs/cli.md specifies, for all commands.
#pragma once

#include "choose/asked.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <span>

namespace flor::cli {

/// The fields that `flor list --json` has for a run, in order.
Json run_json(const store::Run& run);
/// {"kind", "from", "since"}; "from" and "since" are null for a run that was recorded here.
Json origin_json(const store::RunOrigin& origin);
/// The argument's value with its own type; as a text if it cannot be parsed as that type.
Json argument_json(const store::Argument& argument);
/// {"name": value, ...}, each value with its own type.
Json arguments_json(std::span<const store::Argument> arguments);
/// A summary of each metric: {"name": {"type", "count", "last", "min", "max", "hindsight",
/// "evaluated"}, ...}
Json metrics_json(std::span<const store::MetricSummary> metrics);

}  // namespace flor::cli
