// A worker process on this machine, with a socket to it and the file that holds its output.
#pragma once

#include "build/program_launch.h"
#include "process/line_socket.h"
#include "replay/engine.h"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flor::cli {

/// The destructor kills and reaps the process if it still runs.
class WorkerProcess final : public ReplayProcess {
 public:
  /// Starts the process in a process group of its own, so that Ctrl-C reaches it only through its
  /// parent. `variables`: further changes to the environment. `log`: its output is appended there.
  WorkerProcess(const Launch& launch, const detail::WorkerOrder& order,
                const std::map<std::string, std::string>& variables, std::filesystem::path log);
  ~WorkerProcess() override;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void send(const std::string& line) override { socket_.send(line); }
  std::vector<std::string> receive() override { return socket_.receive(); }
  void call_off() override;
  void kill(int signal) override;
  std::optional<int> ended() override;
  std::string last_words() const override;
  std::vector<int> events() const override { return {socket_.descriptor(), pidfd_}; }

 private:
  std::filesystem::path log_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  LineSocket socket_;
};

}  // namespace flor::cli
