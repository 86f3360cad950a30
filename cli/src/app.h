// The program around the subcommands: global options, help, error messages, exit statuses.
#pragma once

#include "shell/command_set.h"
#include "shell/pages.h"

namespace flor::cli {

/// The whole of `flor`: parses the command line, runs one subcommand, and returns the exit status
/// (docs/cli.md).
int run(int argc, char** argv, const CommandSet& commands);

/// Describes every subcommand with its operands and options, in the order of the help.
Pages command_pages(const CommandSet& commands);

}  // namespace flor::cli
