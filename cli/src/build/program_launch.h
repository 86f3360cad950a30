// Prepares the program that a replay executes: the recorded program or another one, with the
// recorded arguments, directory and environment.
#pragma once

#include "build/program_choice.h"
#include "protocol/protocol.h"
#include "trust/permit.h"

#include <flor/store/catalog.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The command, directory and environment with which to start a worker.
struct Launch {
  explicit Launch(const Permit& given) : permit(given) {}

  Permit permit;                       ///< to execute the program
  std::string program;                 ///< path of the executable: of a script, its interpreter
  std::string shown;                   ///< path to show the user: of a script, the script itself
  std::string why;                     ///< why this program was chosen
  std::vector<std::string> command;    ///< the whole command line (argv)
  std::vector<std::string> arguments;  ///< arguments without Flor's own flags
  std::string directory;
  /// Changes to the environment; nullopt unsets the variable.
  std::map<std::string, std::optional<std::string>> environment;
  int threads = 1;     ///< for each worker
  std::string digest;  ///< of the program's content: of a script, the script's
};

/// The launch of the chosen program with the recorded arguments. Secrets, which the record masks,
/// come from the environment (FLOR_SECRET_NAME). Throws NotFound if the program or the directory is
/// missing, UsageError if a secret is missing.
Launch launch_of(const store::Run& run, const ProgramChoice& choice, const Permit& permit,
                 std::optional<int> threads);
/// The launch of `given`, a program and its arguments, in the current directory. Throws NotFound if
/// there is no such program, UsageError if `given` has flags of Flor.
Launch launch_of(const store::Run& run, const std::vector<std::string>& given,
                 std::optional<int> threads);

/// Disjoint sets of CPU cores, one for each worker, with one core for each of its threads. The sets
/// are empty if there are fewer cores than threads.
std::vector<std::vector<int>> core_sets(int workers, int threads);
/// The CPU cores that this process may use.
std::vector<int> cores_here();

}  // namespace flor::cli
