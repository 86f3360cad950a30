// Refuses evaluators that would run the name of a checkpoint as a command.
#pragma once

#include <string>
#include <vector>

namespace flor::cli {

/// Throws UsageError, with the right form, if "{}" stands in a word that a program such as a shell
/// interprets, because a checkpoint may be named `$(command)`.
void refuse_run_as_text(const std::vector<std::string>& words);

}  // namespace flor::cli
