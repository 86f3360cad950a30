// The `flor` command.
#include "app.h"

int main(int argc, char** argv) { return flor::cli::run(argc, argv); }
