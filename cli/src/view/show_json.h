// The JSON of flor show.
#pragma once

#include "output/json.h"
#include "view/show_facts.h"

#include <string_view>

namespace flor::cli {

Json show_run_json(const ShownRun& shown);
Json show_epoch_json(const ShownRun& shown, const ShownEpoch& epoch);
/// The JSON of a saved checkpoint. The run must have a checkpoint of this name.
Json show_saved_json(const ShownRun& shown, std::string_view name);

}  // namespace flor::cli
