// What a replay starts: the recorded program, or another, with the environment of the record.
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

  Permit permit;                       ///< it may be started
  std::string program;                 ///< to execute
  std::string why;                     ///< this one
  std::vector<std::string> command;    ///< argv
  std::vector<std::string> arguments;  ///< those of the words that are not Flor's, as a record has them
  std::string directory;
  /// Changes to the environment; nothing: unset.
  std::map<std::string, std::optional<std::string>> environment;
  int threads = 1;     ///< of each worker
  std::string digest;  ///< of the program
};

/// The recorded arguments for the chosen program. What the record masks is taken from the
/// environment (FLOR_SECRET_NAME). Throws NotFound where the program or the directory is not there,
/// UsageError where a secret is missing.
Launch launch_of(const store::Run& run, const ProgramChoice& choice, const Permit& permit,
                 std::optional<int> threads);
/// `given`: a program and its arguments instead of the recorded ones, to run here. Throws NotFound
/// where there is no such program, UsageError for flags of Flor in `given`.
Launch launch_of(const store::Run& run, const std::vector<std::string>& given,
                 std::optional<int> threads);

/// The cores of each worker, as many as it has threads; empty sets where there are not enough.
std::vector<std::vector<int>> core_sets(int workers, int threads);
/// The cores that this process may use.
std::vector<int> cores_here();

}  // namespace flor::cli
