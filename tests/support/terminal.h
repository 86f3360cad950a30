// Runs a program in a pseudo-terminal, and reads what it draws there.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace flor::testing {

struct TerminalOptions {
  unsigned short columns = 80, rows = 24;
  std::map<std::string, std::string> environment = {{"TERM", "xterm-256color"}};
  std::filesystem::path directory = "/";
};

/// Whether this system has pseudo-terminals: a chroot without /dev/pts has none.
inline bool has_terminals() {
  const int leader = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (leader < 0) return false;
  ::close(leader);
  return true;
}

/// The destructor kills and reaps the program if it still runs.
class Terminal {
 public:
  Terminal(std::vector<std::string> command, const TerminalOptions& options)
      : leader_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (leader_ < 0 || ::grantpt(leader_) != 0 || ::unlockpt(leader_) != 0) {
      throw std::runtime_error("cannot make a terminal");
    }
    const winsize size{options.rows, options.columns, 0, 0};
    ::ioctl(leader_, TIOCSWINSZ, &size);
    const std::string name = ::ptsname(leader_);
    std::vector<std::string> settings;
    for (const auto& [variable, value] : options.environment) {
      settings.push_back(variable + "=" + value);
    }
    std::vector<char*> argv, envp;
    for (std::string& word : command) argv.push_back(word.data());
    for (std::string& setting : settings) envp.push_back(setting.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ > 0) return;
    ::setsid();
    const int follower = ::open(name.c_str(), O_RDWR);
    for (const int descriptor : {0, 1, 2}) ::dup2(follower, descriptor);
    if (::chdir(options.directory.c_str()) == 0) ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ~Terminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(leader_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Reads until `text` was drawn. Returns false after ten seconds, or if the program ends before.
  bool shows(const std::string& text) {
    const auto begun = std::chrono::steady_clock::now();
    while (drawn_.find(text) == drawn_.npos) {
      if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(10)) return false;
      if (!read()) return drawn_.find(text) != drawn_.npos;
    }
    return true;
  }

  /// Sends the text as if it were typed.
  void type(const std::string& text) const {
    if (::write(leader_, text.data(), text.size()) < 0) throw std::runtime_error("cannot type");
  }

  void signal(int number) const { ::kill(pid_, number); }

  /// Reads until the program ends. Returns its exit status, or 128 + the signal.
  int wait() {
    const auto begun = std::chrono::steady_clock::now();
    while (read() && std::chrono::steady_clock::now() - begun < std::chrono::seconds(30)) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// Everything that was drawn so far; lines end in "\r\n", as on a terminal.
  const std::string& drawn() const { return drawn_; }

 private:
  /// Reads what was drawn. Returns false if the program has closed the terminal.
  bool read() {
    pollfd waiting{leader_, POLLIN, 0};
    if (::poll(&waiting, 1, 100) == 0) return true;
    char buffer[65536];
    const ssize_t count = ::read(leader_, buffer, sizeof buffer);
    if (count <= 0) return false;
    drawn_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  int leader_;
  pid_t pid_ = -1;
  std::string drawn_;
};

}  // namespace flor::testing
