// Refuses evaluators that would run the name of a checkpoint as a command.
#pragma once

#include <string>
#include <vector>

namespace flor::cli {

/// Throws UsageError, which says the right form, if "{}" stands in a text that a program such as a
/// shell interprets: a checkpoint may be called `$(command)`.
void refuse_run_as_text(const std::vector<std::string>& words);

}  // namespace flor::cli
