// Prints the results of flor replay --all-versions: where hunks were carried to, and all answers in
// one table.
#pragma once

#include "hindsight/all_versions.h"

namespace flor::cli {

class Context;

/// With `dry_run` the patches and the estimates of the replays, else the answers.
void print_answers(Context& context, const Questions& questions,
                   const std::vector<AskedVersion>& asked, bool dry_run);

}  // namespace flor::cli
