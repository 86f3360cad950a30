// The subcommands that look at what was logged, and change nothing.
#pragma once

#include "command.h"

#include <memory>

namespace flor::cli {

std::unique_ptr<Command> make_plot();
std::unique_ptr<Command> make_sql();

}  // namespace flor::cli
