// Files that a run has read and written, and the runs that it has to do with by that.
#pragma once

#include "output/json.h"
#include "shell/context.h"
#include "view/show_facts.h"

namespace flor::cli {

/// Inputs, then outputs; the first few of each, or `all`. Nothing where there are none.
void print_files(Context& context, const ShownRun& shown, bool all);

/// The other runs are in `from` of inputs, in `read_by` of outputs.
Json files_json(const ShownRun& shown, store::FileUse use);
Json kin_json(const store::FileKin& kin);

}  // namespace flor::cli
