// Loads a slow program once for a test process, and forks it at main() for each start. A start is a
// process with its own arguments, environment, directory and output, and a child of the test like
// any other. support/warm_start.cpp is the part that waits in the program.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace flor::testing {

/// The descriptor of the program's end of the socket.
inline constexpr int kWarmSocket = 250;

/// A program that was loaded with an environment and waits at the beginning of its main().
class WarmProgram {
 public:
  WarmProgram(const std::string& path, const std::vector<std::string>& environment,
              const char* library) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    // When the process in between ends, this process becomes the parent of what that one has
    // started.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::vector<std::string> variables = environment;
    variables.push_back(std::string("LD_PRELOAD=") + library);
    std::vector<char*> argv{const_cast<char*>(path.c_str()), nullptr}, envp;
    for (std::string& text : variables) envp.push_back(text.data());
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], kWarmSocket);
    const int error = ::posix_spawn(&server_, argv[0], &actions, nullptr, argv.data(), envp.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) throw std::runtime_error("cannot run " + path);
    socket_ = ends[0];
  }
  ~WarmProgram() {
    ::close(socket_);
    ::waitpid(server_, nullptr, 0);
  }
  WarmProgram(const WarmProgram&) = delete;
  WarmProgram& operator=(const WarmProgram&) = delete;

  pid_t start(const std::string& directory, const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment, int out, int err) const {
    std::string text = directory + '\0' + std::to_string(arguments.size()) + '\0';
    for (const auto* list : {&arguments, &environment}) {
      for (const std::string& each : *list) text += each + '\0';
    }
    send(text, out, err);
    pid_t program = -1;
    int status = -1;  // exit status of the process in between
    if (::recv(socket_, &program, sizeof program, 0) != sizeof program ||
        ::recv(socket_, &status, sizeof status, 0) != sizeof status || status != 0) {
      throw std::runtime_error("cannot start " + arguments[0]);
    }
    return program;
  }

 private:
  void send(std::string& text, int out, int err) const {
    const int both[2] = {out, err};
    iovec bytes{text.data(), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof both)] = {};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const descriptors = CMSG_FIRSTHDR(&message);
    descriptors->cmsg_level = SOL_SOCKET;
    descriptors->cmsg_type = SCM_RIGHTS;
    descriptors->cmsg_len = CMSG_LEN(sizeof both);
    std::memcpy(CMSG_DATA(descriptors), both, sizeof both);
    if (::sendmsg(socket_, &message, MSG_NOSIGNAL) < 0)
      throw std::runtime_error("a program that waits has ended");
  }

  pid_t server_ = -1;
  int socket_ = -1;
};

/// Whether a variable is read only after main() began: variables of Flor, of git, of ranks and of
/// the test programs.
inline bool read_late(const std::string& variable) {
  static const std::set<std::string> others{
      "AWAIT", "DIE",   "HOME",       "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "MEETING",
      "RAISE", "RANK",  "RAISE_ONCE", "WORLD_SIZE"};
  return variable.starts_with("FLOR_") || variable.starts_with("GIT_") ||
         others.contains(variable.substr(0, variable.find('=')));
}

/// Starts the program by forking a waiting one that was loaded with the same variables.
inline pid_t start_warm(const char* library, const std::string& directory,
                        const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment, int out, int err) {
  static std::map<std::vector<std::string>, WarmProgram> waiting;
  std::vector<std::string> loaded;
  std::ranges::remove_copy_if(environment, std::back_inserter(loaded), read_late);
  std::vector<std::string> key = loaded;
  key.push_back(arguments[0]);
  const auto found = waiting.try_emplace(std::move(key), arguments[0], loaded, library).first;
  return found->second.start(directory, arguments, environment, out, err);
}

}  // namespace flor::testing
