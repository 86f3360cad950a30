// Runs code in a child process, and kills the child with ptrace(2) at the n-th of its system calls,
// without a chance to clean up: directly before the call is made, or directly after it.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

namespace flor::testing {

/// A number in shared memory: the child sets it, and the parent can read it even after the child
/// was killed.
class SharedCounter {
 public:
  SharedCounter() {
    void* memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    number_ = new (memory) std::atomic<int>(0);
  }
  ~SharedCounter() { ::munmap(number_, sizeof(*number_)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  void set(int number) { *number_ = number; }
  int get() const { return *number_; }

 private:
  std::atomic<int>* number_;
};

struct TraceResult {
  bool refused = false;   ///< the system does not allow tracing; nothing was run
  bool finished = false;  ///< the body ended before it was killed
  int stops = 0;          ///< number of stops counted, two for each call
  long call = -1;         ///< number of the system call at which the child was killed
  int status = -1;        ///< exit status, if the child finished
};

/// Counts the system calls of all threads, including those that the body starts.
class SyscallTracer {
 public:
  /// Runs `prepare` in the child, then `body`, whose stops are counted; kills the child at stop
  /// `kill_at` (from 1). A stop is the entry to a system call or its end.
  static TraceResult run(const std::function<void()>& prepare, const std::function<void()>& body,
                         int kill_at) {
    SyscallTracer tracer(kill_at);
    return tracer.trace(prepare, body);
  }

 private:
  static constexpr long kMark = SYS_getppid;
  static constexpr long kMarkArgument = 0x464C4F52;

  explicit SyscallTracer(int kill_at) : kill_at_(kill_at) {}

  static void mark() { ::syscall(kMark, kMarkArgument); }

  TraceResult trace(const std::function<void()>& prepare, const std::function<void()>& body) {
    int ready[2], go[2];
    if (::pipe(ready) != 0 || ::pipe(go) != 0) return {.refused = true};
    child_ = ::fork();
    if (child_ == 0) live(prepare, body, ready[1], go[0]);
    ::close(ready[1]);
    ::close(go[0]);
    char byte = 0;
    const bool prepared = ::read(ready[0], &byte, 1) == 1;
    if (prepared && !seize()) {
      result_.refused = true;
      ::kill(child_, SIGKILL);
    }
    if (::write(go[1], &byte, 1) != 1) ::kill(child_, SIGKILL);
    follow();
    ::close(ready[0]);
    ::close(go[1]);
    return result_;
  }

  [[noreturn]] static void live(const std::function<void()>& prepare,
                                const std::function<void()>& body, int ready, int go) {
    ::signal(SIGPIPE, SIG_IGN);
    int status = 0;
    try {
      prepare();
      char byte = 1;
      if (::write(ready, &byte, 1) != 1) ::_exit(97);
      while (::read(go, &byte, 1) < 0 && errno == EINTR) continue;
      mark();
      body();
      mark();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in a child: %s\n", error.what());
      status = 99;
    }
    ::_exit(status);
  }

  bool seize() {
    constexpr long kOptions = PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    const auto tasks = "/proc/" + std::to_string(child_) + "/task";
    for (const auto& entry : std::filesystem::directory_iterator(tasks)) {
      const pid_t thread = std::stoi(entry.path().filename().string());
      if (::ptrace(PTRACE_SEIZE, thread, nullptr, kOptions) != 0) return false;
      if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return false;
    }
    return true;
  }

  void follow() {
    for (;;) {
      int status = 0;
      const pid_t thread = ::waitpid(-1, &status, __WALL);
      if (thread < 0) {
        if (errno == EINTR) continue;
        return;  // all threads have ended
      }
      if (WIFSTOPPED(status)) {
        go_on(thread, status);
      } else if (thread == child_ && WIFEXITED(status)) {
        result_.finished = true;
        result_.status = WEXITSTATUS(status);
      }
    }
  }

  void go_on(pid_t thread, int status) {
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      if (killed_ || stop_at_call(thread)) return;
      ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
      return;
    }
    // An event of ptrace itself (a new thread, the interruption), or a signal for the child.
    const bool event = status >> 16 != 0 || signal == SIGTRAP;
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, event ? 0L : static_cast<long>(signal));
  }

  /// Returns true if it has killed the child.
  bool stop_at_call(pid_t thread) {
    __ptrace_syscall_info info{};
    ::ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      last_call_ = static_cast<long>(info.entry.nr);
      if (last_call_ == kMark && static_cast<long>(info.entry.args[0]) == kMarkArgument) {
        counting_ = !counting_;
        return false;
      }
    } else if (last_call_ == kMark) {
      return false;
    }
    if (!counting_ || ++result_.stops != kill_at_) return false;
    result_.call = last_call_;
    killed_ = true;
    ::kill(child_, SIGKILL);
    return true;
  }

  pid_t child_ = -1;
  int kill_at_;
  bool counting_ = false, killed_ = false;
  long last_call_ = -1;
  TraceResult result_;
};

}  // namespace flor::testing
