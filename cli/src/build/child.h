// Runs git, CMake and build commands, and waits for them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ChildOptions {
  std::filesystem::path directory;  ///< to run in; empty: this one
  std::map<std::string, std::optional<std::string>> environment = {};  ///< nothing: unset
  /// What it writes is appended to this file; empty: it is returned.
  std::filesystem::path log = {};
  int inherited = -1;  ///< a descriptor that it and its children have, too; -1: none
};

struct ChildResult {
  int status = 0;  ///< exit status, or 128 + the signal
  // Unless they went to the log:
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// `words`: a program that is looked for on PATH, and its arguments. Standard input is empty.
/// Throws Error where it cannot be started.
ChildResult run_child(std::vector<std::string> words, const ChildOptions& options);

/// The program of this name on PATH.
std::optional<std::string> find_on_path(const std::string& name);

}  // namespace flor::cli
