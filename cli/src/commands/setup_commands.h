// The subcommands that are about this installation rather than about runs.
#pragma once

#include "shell/command.h"

#include <memory>

namespace flor::cli {

std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_config();

}  // namespace flor::cli
