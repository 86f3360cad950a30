#include "verdict/verifier_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace flor::detail {
namespace {

constexpr int kSocket = 3;  // file descriptor in the worker

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> worker_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable; ++variable) variables.emplace_back(*variable);
  variables.push_back(fmt::format("{}={}", kWorkerVariable, kSocket));
  return variables;
}

/// Starts the worker with the signal actions of a fresh program; its output goes to `log`.
int spawn(const ProgramStart& start, int socket, int log, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, log, 1);
  ::posix_spawn_file_actions_adddup2(&actions, log, 2);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kSocket);
  ::posix_spawn_file_actions_addchdir_np(&actions, start.directory.c_str());
  std::vector<std::string> words = start.command, environment = worker_environment();
  const int error = ::posix_spawn(&pid, start.program.c_str(), &actions, &attributes,
                                  pointers(words).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

void send(int socket, const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return;  // the worker has ended, which `converse` notices
    }
  }
}

void converse(int socket, VerifierTalk& talk) {
  std::string pending;
  for (;;) {
    for (std::size_t end; (end = pending.find('\n')) != pending.npos;) {
      const auto line = WorkerLine::decode(std::string_view(pending).substr(0, end));
      pending.erase(0, end + 1);
      for (const std::string& answer : talk.heed(line)) send(socket, answer);
    }
    char buffer[1 << 16];
    const ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count > 0) {
      pending.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return;
    }
  }
}

std::string last_line(int log) {
  constexpr off_t kEnd = 1 << 12;
  std::string text(static_cast<std::size_t>(kEnd), '\0');
  const off_t size = ::lseek(log, 0, SEEK_END);
  const ssize_t count =
      ::pread(log, text.data(), text.size(), std::max<off_t>(size - kEnd, 0));
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::string run_verifier(const ProgramStart& start, const WorkerOrder& order, VerifierTalk& talk) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return std::strerror(errno);
  const Descriptor here(pair[0]), log(::memfd_create("flor-verifier", MFD_CLOEXEC));
  Descriptor there(pair[1]);
  pid_t pid = -1;
  if (const int error = spawn(start, there.number(), log.number(), pid)) {
    return fmt::format("{} cannot be started: {}", start.program.string(), std::strerror(error));
  }
  there.close();
  send(here.number(), order.encode());
  std::string failure;
  try {
    converse(here.number(), talk);
  } catch (const std::exception& error) {
    failure = error.what();
    ::kill(pid, SIGKILL);
  }
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!failure.empty() || talk.complete()) return failure;
  const std::string words = last_line(log.number());
  return words.empty() ? "the program ended before it had executed the epochs" : words;
}

}  // namespace flor::detail
