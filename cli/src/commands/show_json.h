// The JSON of flor show.
#pragma once

#include "commands/show_facts.h"
#include "output/json.h"

namespace flor::cli {

Json show_run_json(const ShownRun& shown);
Json show_epoch_json(const ShownRun& shown, const ShownEpoch& epoch);

}  // namespace flor::cli
