#include "process/child.h"

#include "file/home_files.h"
#include "output/terminal_text.h"
#include "process/spawn.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace flor::cli {

/// An unnamed file in memory that takes the output of a child, however long it is.
class ChildProcess::Written {
 public:
  explicit Written(const std::string& whose) : descriptor_(::memfd_create("written", MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw Error(
          fmt::format("no file for what {} writes: {}", printable(whose), std::strerror(errno)));
    }
  }
  ~Written() { ::close(descriptor_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  int descriptor() const { return descriptor_; }
  std::string text() const {
    std::string text;
    char part[1 << 14];
    for (;;) {
      const ssize_t count =
          ::pread(descriptor_, part, sizeof part, static_cast<off_t>(text.size()));
      if (count > 0) {
        text.append(part, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        return text;
      }
    }
  }

 private:
  int descriptor_;
};

ChildProcess::ChildProcess(std::vector<std::string> words, const ChildOptions& options)
    : alone_(options.alone) {
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  if (options.log.empty()) {
    output_ = std::make_unique<Written>(words.front());
    errors_ = std::make_unique<Written>(words.front());
    ::posix_spawn_file_actions_adddup2(&plan.actions, output_->descriptor(), 1);
    ::posix_spawn_file_actions_adddup2(&plan.actions, errors_->descriptor(), 2);
  } else {
    const int log = store::open_in_home(options.log, O_WRONLY | O_CREAT | O_APPEND);
    if (log >= 0) ::close(log);
    ::posix_spawn_file_actions_addopen(&plan.actions, 1, options.log.c_str(), O_WRONLY | O_APPEND,
                                       0);
    ::posix_spawn_file_actions_adddup2(&plan.actions, 1, 2);
  }
  if (options.inherited >= 0) {  // duplicating it onto itself keeps the child's copy open on exec
    ::posix_spawn_file_actions_adddup2(&plan.actions, options.inherited, options.inherited);
  }
  if (!options.directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&plan.actions, options.directory.c_str());
  }
  if (alone_) {
    plan.stand_alone();
  } else {
    sigset_t pipe;  // SIGPIPE, which this process ignores, is reset
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&plan.attributes, &pipe);
    ::posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGDEF);
  }
  std::vector<std::string> environment = environment_with(options.environment);
  const int error = ::posix_spawnp(&pid_, words.front().c_str(), &plan.actions, &plan.attributes,
                                   pointers(words).data(), pointers(environment).data());
  if (error == 0) return;
  pid_ = -1;
  throw Error(fmt::format("{} cannot be started in {}: {}", printable(words.front()),
                          printable(options.directory.string()), std::strerror(error)));
}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0) return;
  kill(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::kill(int signal) const {
  if (pid_ <= 0) return;
  if (!alone_ || ::kill(-pid_, signal) != 0) ::kill(pid_, signal);
}

std::optional<ChildResult> ChildProcess::ended() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return result(status);
}

ChildResult ChildProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return result(status);
}

ChildResult ChildProcess::result(int status) const {
  ChildResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (output_) result.output = output_->text();
  if (errors_) result.errors = errors_->text();
  return result;
}

ChildResult run_child(std::vector<std::string> words, const ChildOptions& options) {
  return ChildProcess(std::move(words), options).wait();
}

std::optional<std::string> find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, end)) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

}  // namespace flor::cli
