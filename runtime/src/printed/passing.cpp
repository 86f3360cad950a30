#include "printed/passing.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace flor::detail {
namespace {

// The passing process is forked from a program with any number of threads, and executes no other
// program. So nothing here may wait for a mutex or allocate memory.

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

/// Reads the lines of /proc/self/maps that describe the program's own memory.
class OwnMemory {
 public:
  /// Gives up this process's share of the large parts. Otherwise memory that the program frees
  /// would stay in use here, and each page that the program writes would be copied first.
  void drop() {
    const int file = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY));
    if (file < 0) return;
    std::array<char, 4096> buffer;
    for (ssize_t count = 0; (count = ::read(file, buffer.data(), buffer.size())) > 0;) {
      for (ssize_t i = 0; i < count; ++i) take(buffer[static_cast<std::size_t>(i)]);
    }
    ::close(file);
  }

 private:
  /// Takes the next character of a line such as "7f2c40000000-7f2c48000000 rw-p 00000000 00:00 0".
  void take(char letter) {
    if (letter == '\n') {
      consider();
      *this = OwnMemory();
      return;
    }
    if (letter == ' ') {
      ++column_;
      letter_ = 0;
    } else if (column_ == 0 && letter == '-') {
      begin_ = number_;
      number_ = 0;
    } else if (column_ == 0) {
      number_ = number_ * 16 +
                static_cast<std::uintptr_t>(letter <= '9' ? letter - '0' : letter - 'a' + 10);
    } else if (column_ == 1) {
      constexpr char kPrivate[] = {'r', 'w', '-', 'p'};
      fits_ = fits_ && letter_ < 4 && letter == kPrivate[letter_++];
    } else if (column_ == 4) {
      fits_ = fits_ && letter == '0';  // memory of no file
    }
  }
  void consider() const {
    constexpr std::uintptr_t kLarge = std::uintptr_t{16} << 20;
    const auto has = [this](const void* address) {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      return begin_ <= at && at < number_;
    };
    if (!fits_ || column_ < 4 || number_ - begin_ < kLarge) return;
    if (has(this) || has(__builtin_thread_pointer()) || has(&errno)) return;
    ::madvise(reinterpret_cast<void*>(begin_), number_ - begin_, MADV_DONTNEED);
  }

  int column_ = 0, letter_ = 0;
  bool fits_ = true;
  std::uintptr_t begin_ = 0, number_ = 0;
};

class Passer {
 public:
  explicit Passer(const Passing& passing) : passing_(passing) {}

  void run() {
    while (is_open() || passing_.program >= 0) {
      std::array<pollfd, 3> waiting;
      for (std::size_t i = 0; i < 2; ++i) waiting[i] = {passing_.streams[i].pipe, POLLIN, 0};
      waiting[2] = {passing_.program, POLLIN, 0};
      if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        if (waiting[i].revents != 0) read_once(passing_.streams[i]);
      }
      if (waiting[2].revents != 0) note_death();
      if (passing_.state->ended != 0 && !is_open()) return;
    }
  }

 private:
  bool is_open() const {
    return std::ranges::any_of(passing_.streams,
                               [](const PassedStream& each) { return each.pipe >= 0; });
  }

  static void close(int& descriptor) {
    ::close(descriptor);
    descriptor = -1;
  }

  /// Reads once. Returns false when nothing more is available.
  static bool read_once(PassedStream& stream) {
    PrintedTape& tape = *stream.tape;
    const auto room = tape.room();
    tape.reading = 1;
    const ssize_t count = ::read(stream.pipe, room.data(), room.size());
    const int error = errno;
    if (count > 0) tape.came(static_cast<std::size_t>(count), now());
    tape.reading = 0;
    if (count < 0 && (error == EINTR || error == EAGAIN)) return error == EINTR;
    if (count <= 0) {
      close(stream.pipe);
      return false;
    }
    if (pass_on(stream.destination, room.data(), static_cast<std::size_t>(count))) {
      tape.passed += static_cast<std::uint64_t>(count);
      return true;
    }
    // The program's next write fails, as it would without Flor.
    tape.failed = 1;
    close(stream.pipe);
    return false;
  }

  /// Called when the program has ended. Its children may go on printing.
  void note_death() {
    close(passing_.program);
    for (PassedStream& stream : passing_.streams) {
      if (stream.pipe < 0) continue;
      ::fcntl(stream.pipe, F_SETFL, O_NONBLOCK);
      while (stream.pipe >= 0 && read_once(stream)) continue;
      if (stream.pipe >= 0) ::fcntl(stream.pipe, F_SETFL, 0);
    }
    if (passing_.state->ended == 0) write_rest();
  }

  void write_rest() const {
    bool has_rest = false;
    for (std::size_t i = 0; i < passing_.count; ++i) {
      const PrintedTape& tape = *passing_.streams[i].tape;
      has_rest = has_rest || tape.written < tape.position;
    }
    if (!has_rest) return;
    const int file = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, passing_.rest.data(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    if (file < 0) return;
    for (std::size_t i = 0; i < passing_.count; ++i) {
      const auto* tape = reinterpret_cast<const std::byte*>(passing_.streams[i].tape);
      const std::size_t used = passing_.streams[i].tape->used();
      constexpr std::array<std::byte, 8> kZeros{};
      if (!pass_on(file, tape, used)) break;
      if (!pass_on(file, kZeros.data(), (8 - used % 8) % 8)) break;
    }
    ::close(file);
  }

  Passing passing_;
};

void close_all_but(const Passing& passing) {
  std::array<int, 6> keep{passing.program,         passing.ready,
                          passing.streams[0].pipe, passing.streams[0].destination,
                          passing.streams[1].pipe, passing.streams[1].destination};
  std::ranges::sort(keep);
  unsigned next = 0;
  for (const int descriptor : keep) {
    if (descriptor < 0) continue;
    const auto number = static_cast<unsigned>(descriptor);
    if (number > next) ::syscall(SYS_close_range, next, number - 1, 0);
    next = number + 1;
  }
  ::syscall(SYS_close_range, next, ~0u, 0);
}

[[noreturn]] void be_passer(const Passing& passing) {
  // A session of its own, so that signals to the program's group, such as those of the terminal, do
  // not come here.
  ::setsid();
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_IGN);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) ::signal(fault, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_NAME, "flor-output");
  [[maybe_unused]] const int moved = ::chdir("/");
  close_all_but(passing);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  OwnMemory().drop();
#endif
  passing.state->process = ::getpid();
  Passer passer(passing);
  ::close(passing.ready);
  passer.run();
  ::_exit(0);
}

}  // namespace

bool pass_on(int destination, const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(destination, bytes, count);
    if (written >= 0) {
      bytes += written;
      count -= static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      pollfd waiting{destination, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool start_passing(const Passing& passing) {
  // _Fork does not call the program's fork handlers, which are for its own forks. Nothing here uses
  // what they lock.
  const pid_t between = ::_Fork();
  if (between < 0) return false;
  if (between == 0) {
    const pid_t passer = ::_Fork();
    if (passer == 0) be_passer(passing);
    ::_exit(passer < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
  return true;
}

}  // namespace flor::detail
