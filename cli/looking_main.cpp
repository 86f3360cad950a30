// The `flor` command of scripts/demo.sh, which compiles in a third of the time.
#include "app.h"
#include "commands/commands.h"

int main(int argc, char** argv) {
  return flor::cli::run(argc, argv, flor::cli::looking_commands());
}
