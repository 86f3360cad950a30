// A worker of a replay as its parent sees it: a process, a socket to it, and the file that holds
// what it writes.
#pragma once

#include "line_socket.h"
#include "replay/launch.h"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// Killed and reaped with the object, if it still runs then.
class WorkerProcess {
 public:
  /// Starts it in a process group of its own, so that Ctrl-C reaches it only through its parent.
  /// `variables`: further changes to the environment. What it writes is appended to `log`.
  WorkerProcess(const Launch& launch, const detail::WorkerOrder& order,
                const std::map<std::string, std::string>& variables, std::filesystem::path log);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  int socket() const { return socket_.descriptor(); }
  int pidfd() const { return pidfd_; }
  pid_t pid() const { return pid_; }

  void send(const std::string& line) { socket_.send(line); }
  /// Whole lines that have arrived; never waits.
  std::vector<std::string> receive() { return socket_.receive(); }
  /// Asks it to keep what it has completed and to end.
  void call_off();
  void kill(int signal) const;
  /// It has ended: reaps it. Exit status, or 128 + the signal.
  std::optional<int> ended();

 private:
  pid_t pid_ = -1;
  int pidfd_ = -1;
  LineSocket socket_;
};

}  // namespace flor::cli
