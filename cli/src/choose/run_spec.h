// Parses runs and epochs as users write them: RUN, RUN@EPOCH, RUN@best, A..B.
#pragma once

#include "ask/runs.h"

#include <string>
#include <string_view>
#include <vector>

namespace flor::cli {

class Context;

using ask::default_run;
using ask::EpochRange;
using ask::parse_epochs;
using ask::parse_run;
using ask::ranks_with;
using ask::RunChoice;
using ask::short_commit;
using ask::short_key;
using ask::stand_for_group;
using ask::title;

/// The run that such a text names; a checkpoint in the text is ignored.
store::Run parse_run_alone(const store::Catalog& catalog, std::string_view text);
/// Like parse_run, for commands on whole runs: a checkpoint in the text is a UsageError.
store::Run parse_whole_run(const store::Catalog& catalog, std::string_view text);

/// Like the functions above, but also prints which fetched runs of the same name are not meant.
RunChoice parse_run(Context& context, std::string_view text);
store::Run parse_whole_run(Context& context, std::string_view text);

}  // namespace flor::cli
