// The `flor` command.
#include "shell/app.h"

int main(int argc, char** argv) { return flor::cli::run(argc, argv); }
