// The `flor` command.
#include "app.h"
#include "commands/commands.h"

int main(int argc, char** argv) { return flor::cli::run(argc, argv, flor::cli::all_commands()); }
