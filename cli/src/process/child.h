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
  /// What it writes is appended to this file; empty: it is returned.
  std::filesystem::path log = {};
  int inherited = -1;  ///< a descriptor that it and its children have, too; -1: none
  /// In a process group of its own, and with no signals blocked: Ctrl-C does not reach it.
  bool alone = false;
};

struct ChildResult {
  int status = 0;  ///< exit status, or 128 + the signal
  // Unless they went to the log:
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// A running child. Killed and reaped with the object, if it still runs then; of one that is
/// `alone`, its group.
class ChildProcess {
 public:
  /// `words`: a program that is looked for on PATH, and its arguments. Standard input is empty.
  /// Throws Error where it cannot be started.
  ChildProcess(std::vector<std::string> words, const ChildOptions& options);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// What came of it, if it has ended; never waits. To be asked until it answers, and not again.
  std::optional<ChildResult> ended();
  /// The same, when it has ended.
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

/// The program of this name on PATH.
std::optional<std::string> find_on_path(const std::string& name);

}  // namespace flor::cli
