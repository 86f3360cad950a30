// What flor replay --all-versions prints: what was carried where, and all answers in one table.
#pragma once

#include "hindsight/all_versions.h"

namespace flor::cli {

class Context;

/// With `dry_run` the patches and what the replays would take, else the answers.
void print_answers(Context& context, const Questions& questions,
                   const std::vector<AskedVersion>& asked, bool dry_run);

}  // namespace flor::cli
