// The code inside a worker process: for each checkpoint, runs a program or calls a function of a
// library.
#include "file/home_files.h"
#include "process/line_socket.h"
#include "queue/job_queue.h"
#include "watch/evaluators/evaluator_process.h"

#include <flor/plugin/evaluator.h>
#include <flor/store/error.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>

namespace flor::cli {
namespace {

using nlohmann::json;

constexpr int kSocket = 3;

/// Evaluates the checkpoint at a path and returns the result; throws if that fails.
using Judge = std::function<std::string(const std::string& path)>;

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

/// Makes this process and all its descendants end when the parent dies, for whatever reason: the
/// kernel sends a signal then, whose handler kills this process's group, which contains only
/// processes that this one has started.
void die_with(pid_t parent) {
  const int parent_died = SIGRTMAX - 1;
  std::signal(parent_died, [](int) { ::kill(0, SIGKILL); });
  ::prctl(PR_SET_PDEATHSIG, parent_died);
  if (::getppid() != parent) ::kill(0, SIGKILL);
}

[[noreturn]] void become(std::vector<std::string>& words, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(output, 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  std::fprintf(stderr, "%s cannot be started: %s\n", argv[0], std::strerror(errno));
  ::_exit(127);
}

/// Copies a program's output to stdout. Returns its end, which contains the result.
std::string read_output(int descriptor) {
  std::string output;
  char part[1 << 16];
  for (ssize_t count; (count = ::read(descriptor, part, sizeof part)) != 0;) {
    if (count < 0) {
      if (errno == EINTR) continue;
      break;
    }
    const auto size = static_cast<std::size_t>(count);
    for (std::size_t done = 0; done < size;) {
      const ssize_t written = ::write(1, part + done, size - done);
      if (written <= 0) break;  // losing the log is better than losing the result
      done += static_cast<std::size_t>(written);
    }
    output.append(part, size);
    constexpr std::size_t kLimit = store::kResultLimit;
    if (output.size() > 2 * kLimit) output.erase(0, output.size() - kLimit);
  }
  return output;
}

std::string run_program(std::vector<std::string> words, const std::string& path) {
  for (std::string& word : words) replace_all(word, "{}", path);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
  const pid_t self = ::getpid(), child = ::fork();
  if (child == 0) become(words, ends[1], self);
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    throw Error(fmt::format("no process: {}", std::strerror(errno)));
  }
  const std::string output = read_output(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw Error(fmt::format("the program was ended by signal {} ({})", WTERMSIG(status),
                            ::strsignal(WTERMSIG(status))));
  }
  if (WEXITSTATUS(status) != 0) {
    throw Error(fmt::format("the program ended with status {}", WEXITSTATUS(status)));
  }
  return result_of_output(output);
}

Judge load_symbol(const std::string& library, const std::string& symbol) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(::dlerror());
  auto* const function = reinterpret_cast<flor_evaluator*>(::dlsym(handle, symbol.c_str()));
  if (function == nullptr) throw Error(fmt::format("{} has no symbol {}", library, symbol));
  return [function](const std::string& path) {
    const char* const answer = function(path.c_str());
    if (answer == nullptr) throw Error("the evaluator returned a null pointer");
    return std::string(answer);
  };
}

Judge load(const std::vector<std::string>& words) {
  if (words.at(0) == "native") return load_symbol(words.at(1), words.at(2));
  return [program = std::vector<std::string>(words.begin() + 1, words.end())](
             const std::string& path) { return run_program(program, path); };
}

/// Sends stdout and stderr to the log file from this point on.
void redirect(const std::string& log) {
  const int opened = store::open_in_home(log, O_WRONLY | O_CREAT | O_APPEND);
  if (opened < 0) return;  // losing the log is better than losing the result
  // If the evaluator has closed 1 or 2, `opened` may be one of these.
  const int file = ::fcntl(opened, F_DUPFD_CLOEXEC, 3);
  if (opened > 2) ::close(opened);
  ::dup2(file, 1);
  ::dup2(file, 2);
  ::close(file);
}

void say(LineSocket& socket, const json& message) {
  socket.send(message.dump(-1, ' ', false, json::error_handler_t::replace));
}

json judge(const Judge& evaluator, const json& job) {
  redirect(job.at("log").get<std::string>());
  ::setenv("FLOR_ARGUMENTS", job.at("arguments").get<std::string>().c_str(), 1);
  json answer;
  try {
    const pid_t self = ::getpid();
    const std::string path = job.at("path").get<std::string>();
    ::setenv("FLOR_CHECKPOINT", path.c_str(), 1);
    std::string result = evaluator(path);
    if (::getpid() != self) std::_Exit(0);  // a child that the evaluator has forked must not act as
                                            // a worker
    if (result.size() > store::kResultLimit) {
      throw Error(fmt::format("the result has {} bytes: it may have {}", result.size(),
                              store::kResultLimit));
    }
    answer = {{"result", std::move(result)}};
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    answer = {{"error", error.what()}};
  } catch (...) {
    answer = {{"error", "the evaluator threw something that is no std::exception"}};
  }
  std::fflush(nullptr);
  answer["job"] = job.at("job");
  return answer;
}

void wait_for(const LineSocket& socket) {
  pollfd waiting{socket.descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, -1);
}

/// Waits for the parent's start message and loads the evaluator; nullopt if the parent is gone.
std::optional<Judge> begin(LineSocket& socket, const std::vector<std::string>& words,
                           std::vector<std::string>& jobs) {
  while (jobs.empty() && !socket.is_closed()) {
    wait_for(socket);
    jobs = socket.receive();
  }
  if (jobs.empty()) return std::nullopt;
  const json told = json::parse(jobs.front());  // a named variable, because the loop below refers
                                                // to a part of it
  for (const auto& [name, value] : told.at("environment").items()) {
    ::setenv(name.c_str(), value.get<std::string>().c_str(), 1);
  }
  jobs.erase(jobs.begin());
  return load(words);
}

}  // namespace

int run_evaluator_process(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_DFL);  // the default action, as programs expect it
  die_with(static_cast<pid_t>(std::stol(words.at(0))));
  ::fcntl(kSocket, F_SETFD, FD_CLOEXEC);
  LineSocket socket(kSocket);
  std::vector<std::string> jobs;
  std::optional<Judge> evaluator;
  try {
    evaluator = begin(socket, {words.begin() + 1, words.end()}, jobs);
  } catch (const std::exception& error) {
    say(socket, {{"fatal", error.what()}});
    return static_cast<int>(ExitStatus::failed);
  }
  if (!evaluator) return 0;
  say(socket, {{"ready", ::getpid()}});
  for (; !socket.is_closed(); jobs = socket.receive()) {
    for (const std::string& line : jobs) say(socket, judge(*evaluator, json::parse(line)));
    wait_for(socket);
  }
  return 0;
}

}  // namespace flor::cli
