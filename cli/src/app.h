// The program around the subcommands: global options, help, errors and exit statuses.
#pragma once

namespace flor::cli {

/// The whole of `flor`: parses, runs one command, and returns the exit status (docs/cli.md).
int run(int argc, char** argv);

}  // namespace flor::cli
