// Loaded into a program by LD_PRELOAD. When the program is ready to run main(), it waits; each
// message of the test forks a process that runs main() with the arguments, the environment, the
// directory and the output in the message. Loading libtorch and registering its operators takes
// longer than most trainings in tests. See support/warm_start.h.
#include "support/warm_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using flor::testing::kWarmSocket;
using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

/// A message: two descriptors for the output, and zero-terminated texts: the directory, the number
/// of arguments, the arguments, and the environment.
struct Request {
  std::string text;
  int out = -1, err = -1;
};

bool receive(Request& request) {
  request.text.resize(1 << 20);
  iovec bytes{request.text.data(), request.text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(kWarmSocket, &message, 0);
  const cmsghdr* descriptors = CMSG_FIRSTHDR(&message);
  if (count <= 0 || !descriptors) return false;  // the test has ended
  int both[2];
  std::memcpy(both, CMSG_DATA(descriptors), sizeof both);
  request.text.resize(static_cast<std::size_t>(count));
  request.out = both[0];
  request.err = both[1];
  return true;
}

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  ::_exit(127);
}

/// Runs the program's main() and returns its status. The texts live until the process has ended.
int run(Request& request) {
  ::close(kWarmSocket);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::dup2(nothing, 0) < 0 || ::dup2(request.out, 1) < 0 || ::dup2(request.err, 2) < 0)
    fail("dup2");
  for (const int descriptor : {nothing, request.out, request.err}) ::close(descriptor);
  std::vector<char*> texts;
  char* const end = request.text.data() + request.text.size();
  for (char* at = request.text.data(); at < end; at += std::strlen(at) + 1) texts.push_back(at);
  if (::chdir(texts.at(0)) != 0) fail(texts[0]);
  const long count = std::strtol(texts.at(1), nullptr, 10);
  auto& arguments = *new std::vector<char*>(texts.begin() + 2, texts.begin() + 2 + count);
  arguments.push_back(nullptr);
  ::clearenv();
  std::for_each(texts.begin() + 2 + count, texts.end(), ::putenv);
  // Runs after all functions that are registered later, and ends the process before libraries are
  // unloaded: libtorch would unregister its operators one by one.
  ::on_exit([](int status, void*) { std::fflush(nullptr), ::_exit(status); }, nullptr);
  return program_main(static_cast<int>(count), arguments.data(), ::environ);
}

/// Called instead of main(). Returns only in the forked processes, which run main().
int wait_for_requests(int, char**, char**) {
  Request& request = *new Request;
  while (receive(request)) {
    const pid_t between = ::fork();
    if (between == 0) {
      const pid_t program = ::fork();
      if (program == 0) return run(request);
      // Ends immediately, so that the test, a child subreaper, becomes the parent of the program.
      ::_exit(::send(kWarmSocket, &program, sizeof program, 0) == sizeof program ? 0 : 1);
    }
    int status = 0;
    ::waitpid(between, &status, 0);
    ::close(request.out);
    ::close(request.err);
    if (::send(kWarmSocket, &status, sizeof status, 0) < 0) break;
  }
  ::_exit(0);
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  const auto start =
      reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  program_main = main;
  return start(wait_for_requests, argc, argv, init, fini, rtld_fini, stack_end);
}
