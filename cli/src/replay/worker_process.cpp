#include "replay/worker_process.h"

#include "file/home_files.h"
#include "output/terminal_text.h"
#include "process/spawn.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace flor::cli {
namespace {

constexpr int kSocket = 3;  // the worker's descriptor of the socket

}  // namespace

WorkerProcess::WorkerProcess(const Launch& launch, const detail::WorkerOrder& order,
                             const std::map<std::string, std::string>& variables,
                             std::filesystem::path log)
    : log_(std::move(log)) {
  const auto [here, there] = socket_pair();
  socket_ = LineSocket(here);
  auto changes = launch.environment;
  for (const auto& [name, value] : variables) changes[name] = value;
  changes[detail::kWorkerVariable] = std::to_string(kSocket);
  std::vector<std::string> environment = environment_with(changes), words = launch.command;
  if (const int file = store::open_in_home(log_, O_WRONLY | O_CREAT); file >= 0) ::close(file);
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&plan.actions, 1, log_.c_str(), O_WRONLY | O_APPEND, 0);
  ::posix_spawn_file_actions_adddup2(&plan.actions, 1, 2);
  ::posix_spawn_file_actions_adddup2(&plan.actions, there, kSocket);
  ::posix_spawn_file_actions_addchdir_np(&plan.actions, launch.directory.c_str());
  plan.stand_alone();
  const int error = ::posix_spawn(&pid_, launch.program.c_str(), &plan.actions, &plan.attributes,
                                  pointers(words).data(), pointers(environment).data());
  ::close(there);
  if (error != 0) {
    throw Error(
        fmt::format("{} cannot be started: {}", printable(launch.program), std::strerror(error)));
  }
  pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  send(order.encode());
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill(SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (pidfd_ >= 0) ::close(pidfd_);
}

void WorkerProcess::call_off() { ::shutdown(socket_.descriptor(), SHUT_WR); }

void WorkerProcess::kill(int signal) {
  if (pid_ <= 0) return;
  if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);  // the process group may not exist yet
}

/// Reads only the end of the log, which may be long.
std::string WorkerProcess::last_words() const {
  std::ifstream log(log_, std::ios::binary);
  constexpr std::streamoff kEnd = 1 << 16;
  log.seekg(0, std::ios::end);
  log.seekg(std::max<std::streamoff>(log.tellg() - kEnd, 0));
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

std::optional<int> WorkerProcess::ended() {
  siginfo_t ended{};
  if (pid_ <= 0 ||
      ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      ended.si_pid != pid_) {
    return std::nullopt;
  }
  ::kill(-pid_, SIGKILL);  // kills its children; the group's number is not reused before the
                           // process is reaped
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace flor::cli
