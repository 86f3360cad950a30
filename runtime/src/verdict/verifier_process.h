// Starts this program again as the worker that verifies the findings of its replay.
#pragma once

#include "protocol/protocol.h"
#include "protocol/verification.h"

#include <filesystem>
#include <string>
#include <vector>

namespace flor::detail {

/// How the program was started.
struct ProgramStart {
  std::filesystem::path program, directory;
  std::vector<std::string> command;  ///< the command line without Flor's flags
};

/// Runs the worker until it has reported everything. Returns why it did not reach the end of its
/// epochs; empty if it did.
std::string run_verifier(const ProgramStart& start, const WorkerOrder& order, VerifierTalk& talk);

}  // namespace flor::detail
