#include "printed/passed_output.h"

#include "base/notice.h"
#include "base/process_facts.h"
#include "base/signals_blocked.h"
#include "printed/terminal.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace flor::detail {
namespace {

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

void close_one(int& descriptor) noexcept {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

[[noreturn]] void cannot(const char* what) {
  throw Error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

PassedOutput::PassedOutput(const Options& options) : next_number_(options.first_number) {
  const bool out = is_open(STDOUT_FILENO), error = is_open(STDERR_FILENO);
  if (!out && !error) return;
  joined_ = out && error && is_same_file(STDOUT_FILENO, STDERR_FILENO);
  const auto shape = PrintedTape::shape_of(options.limit);
  constexpr std::size_t kState = 4096;
  memory_bytes_ = kState + 2 * ((PrintedTape::size_of(shape) + 4095) / 4096 * 4096);
  void* memory = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) cannot("no memory can be shared");
  memory_ = static_cast<std::byte*>(memory);
  state_ = new (memory_) PassingState;
  used_ = kState;
  try {
    using Kind = store::Printed::Stream;
    if (out) open_stream(STDOUT_FILENO, joined_ ? Kind::both : Kind::out, shape);
    if (error && !joined_) open_stream(STDERR_FILENO, Kind::error, shape);
    Passing passing;
    passing.count = count_;
    passing.state = state_;
    for (std::size_t i = 0; i < count_; ++i) {
      passing.streams[i] = {streams_[i].tape, streams_[i].read, streams_[i].destination};
    }
    const std::string rest = options.rest.string();
    if (rest.size() >= passing.rest.size()) throw Error("the path of the home is too long");
    std::memcpy(passing.rest.data(), rest.data(), rest.size());
    passing.program = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
    if (passing.program < 0) cannot("pidfd_open");
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) cannot("pipe");
    passing.ready = ready[1];
    flush_printed();
    const bool started = [&] {
      const store::SignalsBlocked blocked;
      return start_passing(passing);
    }();
    ::close(ready[1]);
    ::close(passing.program);
    char none = 0;
    while (::read(ready[0], &none, 1) < 0 && errno == EINTR) continue;
    ::close(ready[0]);
    if (!started || state_->process == 0) cannot("fork");
    passer_ = static_cast<int>(::syscall(SYS_pidfd_open, state_->process.load(), 0));
    if (passer_ < 0) cannot("pidfd_open");
  } catch (...) {
    close();
    throw;
  }
  for (std::size_t i = 0; i < count_; ++i) replace(streams_[i].descriptor, streams_[i]);
  if (joined_) replace(STDERR_FILENO, streams_[0]);
  publish();
}

PassedOutput::~PassedOutput() {
  stop();
  if (memory_) ::munmap(memory_, memory_bytes_);
}

void PassedOutput::open_stream(int descriptor, store::Printed::Stream stream,
                               const PrintedTape::Shape& shape) {
  Stream& made = streams_[count_++];
  made.descriptor = descriptor;
  made.tape = PrintedTape::make(memory_ + used_, shape, stream);
  used_ += (PrintedTape::size_of(shape) + 4095) / 4096 * 4096;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) cannot("pipe");
  // A large pipe, so that a burst of output does not wait for the passing process.
  constexpr int kPipeBytes = 256 << 10;
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);
  constexpr int kHigh = 10;  // lower numbers may be expected to be free by programs
  made.read = ::fcntl(ends[0], F_DUPFD_CLOEXEC, kHigh);
  made.write = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kHigh);
  made.destination = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kHigh);
  ::close(ends[0]);
  ::close(ends[1]);
  if (made.read < 0 || made.write < 0 || made.destination < 0) cannot("dup");
}

void PassedOutput::replace(int descriptor, const Stream& stream) {
  const bool terminal = ::isatty(descriptor) != 0;
  const bool decided = descriptor == STDOUT_FILENO && ::__fbufsize(stdout) != 0;
  ::dup2(stream.write, descriptor);
  if (!terminal) return;
  struct stat pipe {};
  if (::fstat(stream.write, &pipe) == 0) count_as_terminal(pipe);
  // Lines appear one by one, as they do on a terminal.
  if (descriptor == STDOUT_FILENO && !decided) ::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

bool PassedOutput::has_ended() const noexcept {
  pollfd waiting{passer_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

std::uint64_t PassedOutput::position_of(const Stream& stream) const noexcept {
  // If two looks at the tape find the same position, nothing has left the pipe in between.
  constexpr int kTries = 100'000;
  for (int i = 0;; ++i) {
    const std::uint64_t position = stream.tape->position;
    if (stream.tape->reading == 0) {
      int waiting = 0;
      ::ioctl(stream.read, FIONREAD, &waiting);
      const std::uint64_t sum = position + static_cast<std::uint64_t>(waiting);
      if (stream.tape->reading == 0 && stream.tape->position == position) return sum;
    }
    if (i > kTries || (i % 1000 == 999 && has_ended())) return position;
    ::sched_yield();
  }
}

void PassedOutput::move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept {
  flush_printed();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count_; ++i) {
    Stream& stream = streams_[i];
    if (stream.read < 0) continue;
    stream.tape->mark(position_of(stream), epoch, path, kept);
    if (stream.tape->marks() - stream.marks < PrintedTape::kMarksMax) continue;
    // Marks of bytes that are still in the pipe are needed until the bytes are on the tape.
    const std::uint64_t end = position_of(stream);
    for (int tries = 1; stream.tape->position < end && stream.tape->failed == 0; ++tries) {
      if (tries % 1000 == 0 && has_ended()) break;
      ::sched_yield();
    }
    try {
      collect(true);
    } catch (const std::exception&) {  // no memory for the pieces: they are collected later
    }
  }
}

void PassedOutput::collect(bool all) {
  std::vector<store::Printed> pieces;
  for (std::size_t i = 0; i < count_; ++i) {
    Stream& stream = streams_[i];
    const bool at_end = all && stream.read < 0;  // the end of the tape does not change any more
    std::uint64_t to = stream.tape->position;
    if (!at_end) to = std::min(to, stream.tape->head());
    if (to > stream.taken) {
      std::ranges::move(stream.tape->cut(stream.taken, to), std::back_inserter(pieces));
      stream.taken = to;
    }
    stream.marks = stream.tape->marks();
  }
  number_printed(pieces, next_number_);
  next_number_ += static_cast<std::int64_t>(pieces.size());
  std::ranges::move(pieces, std::back_inserter(pieces_));
}

std::vector<store::Printed> PassedOutput::take(bool all) {
  constexpr std::int64_t kPause = 2'000'000;  // in us: a piece has a cost of its own
  const std::int64_t now = now_us();
  const std::lock_guard lock(mutex_);
  if (all || now - last_take_us_ >= kPause || now < last_take_us_) {
    collect(all);
    last_take_us_ = now;
  }
  return std::exchange(pieces_, {});
}

void PassedOutput::written() noexcept {
  const std::lock_guard lock(mutex_);
  if (!pieces_.empty()) return;
  bool is_all = passer_ < 0;
  for (std::size_t i = 0; i < count_; ++i) {
    streams_[i].tape->written = streams_[i].taken;
    is_all = is_all && streams_[i].taken == streams_[i].tape->position;
  }
  if (is_all && state_) state_->ended = 1;
}

void PassedOutput::take_over(Stream& stream) noexcept {
  ::fcntl(stream.read, F_SETFL, O_NONBLOCK);
  std::array<std::byte, 4096> bytes;
  for (ssize_t count = 0; (count = ::read(stream.read, bytes.data(), bytes.size())) > 0;) {
    pass_on(stream.destination, bytes.data(), static_cast<std::size_t>(count));
  }
}

void PassedOutput::watch() noexcept {
  const std::lock_guard lock(mutex_);
  if (passer_ < 0) return;
  bool failed = has_ended();
  for (std::size_t i = 0; i < count_; ++i) failed = failed || streams_[i].tape->failed != 0;
  if (!failed) return;
  restore();
  for (std::size_t i = 0; i < count_; ++i) take_over(streams_[i]);
  close();
}

void PassedOutput::restore() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const Stream& stream = streams_[i];
    if (stream.write < 0) continue;
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      // If the program has put another file on this descriptor, the descriptor is left alone.
      if (is_same_file(descriptor, stream.write)) ::dup2(stream.destination, descriptor);
    }
  }
  forget_terminals();
}

void PassedOutput::close() noexcept {
  withdraw();
  for (Stream& stream : streams_) {
    close_one(stream.write);
    close_one(stream.read);
    close_one(stream.destination);
  }
  close_one(passer_);
}

void PassedOutput::await_passed() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const Stream& stream = streams_[i];
    if (stream.read < 0) continue;
    const std::uint64_t end = position_of(stream);
    while (stream.tape->passed < end && stream.tape->failed == 0 && !has_ended()) ::usleep(100);
  }
}

void PassedOutput::stop() noexcept {
  flush_printed();
  const std::lock_guard lock(mutex_);
  if (passer_ < 0) return;
  restore();
  await_passed();
  close();
}

}  // namespace flor::detail
