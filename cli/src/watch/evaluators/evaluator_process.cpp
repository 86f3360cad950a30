#include "watch/evaluators/evaluator_process.h"

#include "output/terminal_text.h"
#include "process/spawn.h"
#include "watch/python_server.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace flor::cli {
namespace {

constexpr int kServerSocket = 3;  // descriptor in the child

struct Started {
  WorkerChild child;
  LineSocket socket;
};

/// Starts a child in a process group of its own, so that Ctrl-C reaches it only through its parent.
/// The child's output goes to this process's stderr.
Started spawn(std::vector<std::string> words) {
  const auto [here, there] = socket_pair();
  LineSocket socket(here);
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&plan.actions, 2, 1);
  ::posix_spawn_file_actions_adddup2(&plan.actions, there, kServerSocket);
  plan.stand_alone();
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words.front().c_str(), &plan.actions, &plan.attributes,
                                   pointers(words).data(), ::environ);
  ::close(there);
  if (error != 0) {
    const char* const remedy = error == ENOENT ? ": install it, or put it on PATH"
                                               : ": end other processes, or raise limits";
    throw Error(fmt::format("{} cannot be started: {}{}", printable(words.front()),
                            std::strerror(error), remedy));
  }
  return {WorkerChild(pid), std::move(socket)};
}

/// Sends a descriptor over a Unix socket, with a byte of data.
bool send_descriptor(int socket, int descriptor) {
  char byte = 'w';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

std::string in_words(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("its process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("its process ended with status {}", WEXITSTATUS(status));
}

/// Waits for the end of a process, for at most a second.
void wait_for_end(int pidfd) {
  if (pidfd < 0) return;
  pollfd ending{pidfd, POLLIN, 0};
  ::poll(&ending, 1, 1000);
}

std::string one_line(const nlohmann::json& message) {
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

WorkerChild::~WorkerChild() { end(); }

WorkerChild::WorkerChild(WorkerChild&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

WorkerChild& WorkerChild::operator=(WorkerChild&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

std::string WorkerChild::end() {
  if (pid_ <= 0) return {};
  siginfo_t info{};
  const bool ended =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      info.si_pid == pid_;
  // The ids of the process and of its group are not reused before it is reaped.
  if (::kill(-pid_, SIGKILL) != 0) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return ended ? in_words(status) : std::string();
}

std::string WorkerChild::end_of_closed() {
  if (pid_ > 0) {
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    wait_for_end(descriptor);
    if (descriptor >= 0) ::close(descriptor);
  }
  return end();
}

EvaluatorProcess::~EvaluatorProcess() {
  // The Python server forked this worker and reaps it, so its id may belong to another process
  // already; the pidfd tells.
  if (pidfd_ >= 0) {
    if (::syscall(SYS_pidfd_send_signal, pidfd_, 0, nullptr, 0) == 0) ::kill(-pid_, SIGKILL);
    ::close(pidfd_);
  }
}

void EvaluatorProcess::begin(const Environment& environment, bool fresh) {
  socket_.send(one_line({{"environment", environment}, {"fresh", fresh}}));
}

void EvaluatorProcess::judge(const store::NewJob& job, const std::filesystem::path& log) {
  socket_.send(one_line(
      {{"job", ++job_}, {"path", job.path}, {"log", log.string()}, {"arguments", job.arguments}}));
}

std::vector<EvaluatorProcess::Message> EvaluatorProcess::answers() {
  std::vector<Message> result;
  for (const std::string& line : socket_.receive()) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto text = [&](const char* name) {
      return json[name].is_string() ? json[name].get<std::string>() : json[name].dump();
    };
    if (!json.is_object()) continue;
    const bool is_answer = json.contains("result") || json.contains("error");
    if (is_answer && json.value("job", std::uint64_t{0}) != job_) continue;
    if (json.contains("ready")) {
      pid_ = json["ready"].get<pid_t>();
      pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
      result.push_back({Message::Kind::ready, {}});
    } else if (json.contains("result")) {
      result.push_back({Message::Kind::result, text("result")});
    } else if (json.contains("fatal")) {
      result.push_back({Message::Kind::fatal, text("fatal")});
    } else if (json.contains("error")) {
      result.push_back({Message::Kind::error, text("error")});
    }
  }
  if (socket_.is_closed() && !died_) {
    died_ = true;
    wait_for_end(pidfd_);
    const std::string how = child_.end_of_closed();
    result.push_back({Message::Kind::died, how.empty() ? "its process ended" : how});
  }
  return result;
}

void EvaluatorProcesses::start_server() {
  auto started =
      spawn({"python3", "-c", kPythonServer, std::to_string(::getpid()),
             spec_.module.empty() ? spec_.file.string() : "", spec_.module, spec_.function});
  server_ = std::move(started.child);
  control_ = std::move(started.socket);
  is_server_ready_ = false;
}

void EvaluatorProcesses::drop_server() {
  control_ = LineSocket();
  const std::string how = server_.end_of_closed();
  if (!is_server_ready_ && !how.empty()) last_end_ = how;
}

void EvaluatorProcesses::hear() {
  if (control_.descriptor() < 0) return;
  for (const std::string& line : control_.receive()) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("fatal")) {
      throw Error(fmt::format("{} cannot be loaded: {}", printable(spec_.text()),
                              printable(json["fatal"].get<std::string>())));
    }
    is_server_ready_ = is_server_ready_ || (json.is_object() && json.contains("ready"));
  }
  if (control_.is_closed()) drop_server();
}

std::unique_ptr<EvaluatorProcess> EvaluatorProcesses::start(
    const EvaluatorProcess::Environment& environment) {
  if (spec_.kind != EvaluatorSpec::Kind::python) {
    std::vector<std::string> words{"/proc/self/exe", "__evaluator", std::to_string(::getpid())};
    if (spec_.kind == EvaluatorSpec::Kind::native) {
      words.insert(words.end(), {"native", spec_.file.string(), spec_.function});
    } else {
      words.emplace_back("program");
      words.insert(words.end(), spec_.words.begin(), spec_.words.end());
    }
    auto started = spawn(std::move(words));
    auto process =
        std::make_unique<EvaluatorProcess>(std::move(started.socket), std::move(started.child));
    process->begin(environment);
    return process;
  }
  for (int tries = 0;; ++tries) {
    if (control_.descriptor() < 0) start_server();
    const auto [here, there] = socket_pair();
    LineSocket socket(here);
    const bool sent = send_descriptor(control_.descriptor(), there);
    ::close(there);
    if (sent) {
      auto process = std::make_unique<EvaluatorProcess>(std::move(socket), WorkerChild());
      process->begin(environment, spec_.fresh);
      return process;
    }
    drop_server();  // another process has killed the server
    if (tries > 0) throw Error(fmt::format("{} cannot be started", printable(spec_.text())));
  }
}

}  // namespace flor::cli
