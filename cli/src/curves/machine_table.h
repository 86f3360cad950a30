// The samples of the machine by epochs, as text and JSON.
#pragma once

#include "shell/context.h"

#include <cstdint>
#include <optional>

namespace flor::cli {

/// Prints a row for each epoch, or for this one (-1: outside of the loops), in which a sample was
/// taken.
void print_machine(Context& context, const store::Run& run, std::optional<std::int64_t> epoch);

}  // namespace flor::cli
