#include "build/child.h"

#include "output/text.h"
#include "replay/spawn.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace flor::cli {
namespace {

std::string read_all(int descriptor) {
  std::string text;
  char part[1 << 14];
  for (;;) {
    const ssize_t count = ::read(descriptor, part, sizeof part);
    if (count > 0) {
      text.append(part, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

ChildResult run_child(std::vector<std::string> words, const ChildOptions& options) {
  int ends[2] = {-1, -1};
  if (options.log.empty() && ::pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(fmt::format("no pipe for {}: {}", words.front(), std::strerror(errno)));
  }
  SpawnPlan plan;
  ::posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  if (options.log.empty()) {
    ::posix_spawn_file_actions_adddup2(&plan.actions, ends[1], 1);
  } else {
    ::posix_spawn_file_actions_addopen(&plan.actions, 1, options.log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0666);
  }
  ::posix_spawn_file_actions_adddup2(&plan.actions, 1, 2);
  if (!options.directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&plan.actions, options.directory.c_str());
  }
  sigset_t pipe;  // which this process ignores
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&plan.attributes, &pipe);
  ::posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> environment = environment_with(options.environment);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, words.front().c_str(), &plan.actions, &plan.attributes,
                                   pointers(words).data(), pointers(environment).data());
  if (ends[1] >= 0) ::close(ends[1]);
  ChildResult result;
  if (error == 0 && ends[0] >= 0) result.output = read_all(ends[0]);
  if (ends[0] >= 0) ::close(ends[0]);
  if (error != 0) {
    throw Error(fmt::format("{} cannot be started in {}: {}", printable(words.front()),
                            printable(options.directory.string()), std::strerror(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
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
