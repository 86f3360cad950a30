// The objects of docs/cli.md that describe a run, shared by the commands.
#pragma once

#include "choose/run_facts.h"
#include "output/json.h"

#include <flor/store/catalog.h>

#include <span>

namespace flor::cli {

/// The fields of `flor list` for one run, in order.
Json run_json(const store::Run& run);
/// {"kind", "from", "since"}; the last two are null for runs recorded here.
Json origin_json(const store::RunOrigin& origin);
/// The value with its own type; as text if it cannot be parsed as that type.
Json argument_json(const store::Argument& argument);
/// {"name": typed value, ...}
Json arguments_json(std::span<const store::Argument> arguments);
/// {"name": {"type", "count", "last", "min", "max", "hindsight", "evaluated"}, ...}
Json metrics_json(std::span<const store::MetricSummary> metrics);

}  // namespace flor::cli
