// Starts what a replay executes: the recorded program, or another, with the recorded environment.
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

/// How to start a worker.
struct Launch {
  explicit Launch(const Permit& given) : permit(given) {}

  Permit permit;                       ///< to start it
  std::string program;                 ///< to execute
  std::string shown;                   ///< the file that users know it by: the script, not its interpreter
  std::string why;                     ///< why this one
  std::vector<std::string> command;    ///< argv
  std::vector<std::string> arguments;  ///< words that are not Flor's, as recorded
  std::string directory;
  /// Changes to the environment; nothing: unset.
  std::map<std::string, std::optional<std::string>> environment;
  int threads = 1;     ///< of each worker
  std::string digest;  ///< of the program
};

/// The recorded arguments for the chosen program. Masked words are taken from the environment
/// (FLOR_SECRET_NAME). Throws NotFound if the program or the directory is missing, UsageError if a
/// secret is.
Launch launch_of(const store::Run& run, const ProgramChoice& choice, const Permit& permit,
                 std::optional<int> threads);
/// `given`: a program and its arguments instead of the recorded ones, to run here. Throws NotFound
/// if there is no such program, UsageError for flags of Flor in `given`.
Launch launch_of(const store::Run& run, const std::vector<std::string>& given,
                 std::optional<int> threads);

/// The cores of each worker, one for each of its threads; empty sets if there are not enough.
std::vector<std::vector<int>> core_sets(int workers, int threads);
/// The cores that this process may use.
std::vector<int> cores_here();

}  // namespace flor::cli
