// Runs git, CMake and build commands, and waits for them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

struct ChildOptions {
  std::filesystem::path directory;  ///< to run in; empty: this one
  std::map<std::string, std::optional<std::string>> environment = {};  ///< nothing: unset
  /// The file to which output is appended; empty: output is returned.
  std::filesystem::path log = {};
  int inherited = -1;  ///< a descriptor that it and its children inherit; -1: none
  /// Runs in a process group of its own, with no signals blocked: Ctrl-C does not reach it.
  bool alone = false;
};

struct ChildResult {
  int status = 0;  ///< exit status, or 128 + the signal
  // Empty if output went to the log:
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// A running child. Killed and reaped with the object, if it still runs then; with `alone`, its
/// whole group.
class ChildProcess {
 public:
  /// `words`: a program, searched for on PATH, and its arguments. Standard input is empty. Throws
  /// Error if it cannot be started.
  ChildProcess(std::vector<std::string> words, const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The result, if it has ended; never waits. Not to be called again after it has answered.
  std::optional<ChildResult> ended();
  /// Waits for the end, and returns the result.
  ChildResult wait();
  void kill(int signal) const;

 private:
  class Written;
  ChildResult result(int status) const;
  pid_t pid_ = -1;
  bool alone_;
  std::unique_ptr<Written> output_, errors_;
};

/// Starts a ChildProcess and waits for it.
ChildResult run_child(std::vector<std::string> words, const ChildOptions& options);

/// The path of the program of this name on PATH.
std::optional<std::string> find_on_path(const std::string& name);

}  // namespace flor::cli
