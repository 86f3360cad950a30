// The program around the subcommands: global options, help, errors and exit statuses.
#pragma once

#include "shell/pages.h"

namespace flor::cli {

/// The whole of `flor`: parses, runs one command, and returns the exit status (docs/cli.md).
int run(int argc, char** argv);

/// Every command with its operands and options, as texts, in the order of help.
Pages command_pages();

}  // namespace flor::cli
