// Runs a program as a child process with its own directory and environment, captured output, a time
// limit, and signals to exactly that process.
#pragma once

#include "support/temporary_directory.h"
#include "support/warm_start.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace flor::testing {

struct ProcessResult {
  int status = -1;  ///< exit status; -1 if a signal ended it
  int signal = 0;   ///< the signal that ended it, or 0
  bool timed_out = false;
  long peak_kib = 0;  ///< largest resident set size
  std::string out, err;
};

struct ProcessOptions {
  std::filesystem::path directory = ".";
  std::map<std::string, std::optional<std::string>> environment;  ///< nullopt unsets a variable
  std::chrono::milliseconds timeout{240000};
  /// The file to whose end standard output goes; empty: one without a name.
  std::filesystem::path out = {};
};

/// A running child process. The destructor kills and reaps it if it still runs.
class Process {
 public:
  Process(std::vector<std::string> arguments, ProcessOptions options)
      : timeout_(options.timeout), out_(output_file(options.out)), err_(output_file()) {
    std::vector<std::string> variables = environment_with(options.environment);
#ifdef FLOR_WARM_START  // library that makes programs with libtorch wait at their main()
    // Forked programs have the same memory addresses; slow tests start each program anew instead.
    const bool warm = !std::getenv("FLOR_TEST_COLD_STARTS");
    if (warm && arguments[0].starts_with(FLOR_TEST_PROGRAMS "/")) {
      pid_ = start_warm(FLOR_WARM_START, options.directory, arguments, variables, out_, err_);
      return;
    }
#endif
    std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out_, 1);
    ::posix_spawn_file_actions_adddup2(&actions, err_, 2);
    ::posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
    const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::runtime_error("cannot run " + arguments[0]);
  }
  ~Process() {
    if (pid_ > 0) {
      kill(SIGKILL);
      int status = 0;
      ::waitpid(pid_, &status, 0);
    }
    ::close(out_);
    ::close(err_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }
  /// The output so far.
  std::string out() const { return content(out_); }
  std::string err() const { return content(err_); }

  /// Whether the process has ended; it need not have been waited for.
  bool ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }

  /// Waits until `condition` holds. Checks it whenever the program has written something, and when
  /// it has ended. Returns false if it does not hold then, or within a minute.
  bool await(const std::function<bool()>& condition) const {
    const int events = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (const int output : {out_, err_}) {
      const std::string name = "/proc/self/fd/" + std::to_string(output);
      ::inotify_add_watch(events, name.c_str(), IN_MODIFY);
    }
    const int end = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    const auto last = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    bool holds = condition();
    for (bool has_ended = false; !holds && !has_ended;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          last - std::chrono::steady_clock::now());
      pollfd waiting[] = {{events, POLLIN, 0}, {end, POLLIN, 0}};
      if (left.count() <= 0 || ::poll(waiting, 2, static_cast<int>(left.count())) == 0) break;
      has_ended = waiting[1].revents != 0;
      char seen[4096];
      while (::read(events, seen, sizeof seen) > 0) continue;
      holds = condition();
    }
    ::close(events);
    ::close(end);
    return holds;
  }

  /// Waits until the process has ended, or kills it after its time limit.
  ProcessResult wait() {
    ProcessResult result;
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    pollfd ended{descriptor, POLLIN, 0};
    if (descriptor >= 0 && ::poll(&ended, 1, static_cast<int>(timeout_.count())) == 0) {
      result.timed_out = true;
      kill(SIGKILL);
    }
    if (descriptor >= 0) ::close(descriptor);
    int status = 0;
    rusage usage{};
    ::wait4(pid_, &status, 0, &usage);
    pid_ = -1;
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    result.peak_kib = usage.ru_maxrss;
    result.out = out();
    result.err = err();
    return result;
  }

 private:
  /// A file without a name is not made by memfd_create, because inotify cannot watch such a file.
  static int output_file(const std::filesystem::path& file = {}) {
    std::string name = file.empty() ? fast_parent() / "flor-output-XXXXXX" : file;
    const int descriptor =
        file.empty() ? ::mkostemp(name.data(), O_CLOEXEC | O_APPEND)
                     : ::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0) throw std::runtime_error("cannot make " + name);
    if (file.empty()) ::unlink(name.c_str());
    return descriptor;
  }
  static std::string content(int descriptor) {
    struct stat facts {};
    ::fstat(descriptor, &facts);
    std::string text(static_cast<std::size_t>(facts.st_size), '\0');
    const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }
  static std::vector<std::string> environment_with(
      const std::map<std::string, std::optional<std::string>>& changes) {
    std::vector<std::string> variables;
    for (char** variable = ::environ; *variable; ++variable) {
      const std::string text = *variable;
      if (!changes.contains(text.substr(0, text.find('=')))) variables.push_back(text);
    }
    for (const auto& [name, value] : changes) {
      if (value) variables.push_back(name + "=" + *value);
    }
    return variables;
  }
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (std::string& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  std::chrono::milliseconds timeout_;
  int out_, err_;
  pid_t pid_ = -1;
};

inline ProcessResult run_process(std::vector<std::string> arguments, ProcessOptions options = {}) {
  return Process(std::move(arguments), std::move(options)).wait();
}

}  // namespace flor::testing
