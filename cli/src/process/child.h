// Runs other programs (git, CMake, build commands), and waits for them.
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
  std::filesystem::path directory;  ///< working directory of the child; empty: this process's
  std::map<std::string, std::optional<std::string>> environment = {};  ///< changes; nullopt unsets
                                                                       ///< a variable
  /// The file to which output is appended; empty: ChildResult has the output.
  std::filesystem::path log = {};
  int inherited = -1;  ///< a descriptor that the child and its children inherit; -1: none
  /// Runs the child in a process group of its own, with no signals blocked, so that Ctrl-C does not
  /// reach it.
  bool alone = false;
};

struct ChildResult {
  int status = 0;  ///< exit status, or 128 + the signal
  // Both are empty if the output was appended to a log:
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// A running child process. The destructor kills and reaps it if it still runs; with `alone`, it
/// kills the whole group.
class ChildProcess {
 public:
  /// Starts `words`: a program, searched for on PATH, and its arguments. Standard input is empty.
  /// Throws Error if the program cannot be started.
  ChildProcess(std::vector<std::string> words, const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The result if the child has ended, else nullopt; never waits. Must not be called again after
  /// it has returned the result.
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

/// Starts a ChildProcess, waits for it, and returns its result.
ChildResult run_child(std::vector<std::string> words, const ChildOptions& options);

/// The path of the program `name` on PATH; nullopt if there is none.
std::optional<std::string> find_on_path(const std::string& name);

}  // namespace flor::cli
