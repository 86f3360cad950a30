#include "printed/file_output.h"

#include "base/process_facts.h"
#include "base/signals_blocked.h"
#include "file/home_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

namespace flor::detail {
namespace {

constexpr int kHighDescriptor = 10;  // lower numbers may be expected to be free by programs

int to_high(int descriptor) {
  const int high = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kHighDescriptor);
  ::close(descriptor);
  return high;
}

/// Opens for reading the regular file to which a descriptor writes. Returns -1 for anything else.
int open_to_read(int descriptor, struct stat& status) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return -1;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  const int file = ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(),
                          O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  return file < 0 ? -1 : to_high(file);
}

std::size_t distance_in(const PrintedLog& log, const void* part) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(part) -
                                  reinterpret_cast<const std::byte*>(&log));
}

}  // namespace

FileOutput::FileOutput(const Options& options)
    : rest_(options.rest), next_number_(options.first_number) {
  using Kind = store::Printed::Stream;
  const bool joined = is_same_file(STDOUT_FILENO, STDERR_FILENO);
  open_stream(STDOUT_FILENO, joined ? Kind::both : Kind::out, options);
  if (!joined) open_stream(STDERR_FILENO, Kind::error, options);
}

FileOutput::~FileOutput() {
  withdraw();
  watcher_ = std::jthread();  // ends it
  for (const Stream& stream : streams_) {
    ::close(stream.file);
    if (stream.own >= 0) ::close(stream.own);
  }
  if (facts_ >= 0) ::close(facts_);
}

void FileOutput::open_stream(int descriptor, store::Printed::Stream kind, const Options& options) {
  struct stat status {};
  Stream stream;
  stream.file = open_to_read(descriptor, status);
  if (stream.file < 0) return;
  stream.id = {status.st_dev, status.st_ino};
  const int other = kind == store::Printed::Stream::both ? STDERR_FILENO : descriptor;
  const bool appends = ((::fcntl(descriptor, F_GETFL) | ::fcntl(other, F_GETFL)) & O_APPEND) != 0;
  if (!appends) stream.own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kHighDescriptor);
  stream.log = std::make_unique<PrintedLog>();
  PrintedLog& log = *stream.log;
  log.tape.begin_without_text(options.limit, kind);
  log.number = status.st_ino;
  const std::string link = fmt::format("/proc/self/fd/{}", stream.file);
  const ssize_t length = ::readlink(link.c_str(), log.path.data(), log.path.size() - 1);
  if (length < 0) log.path[0] = '\0';
  streams_.push_back(std::move(stream));
}

bool FileOutput::reads(int descriptor) const {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 &&
         std::ranges::any_of(streams_, [id = FileId{status.st_dev, status.st_ino}](
                                           const Stream& stream) { return stream.id == id; });
}

bool FileOutput::is_shared() const {
  std::vector<FileId> ids;
  for (const Stream& stream : streams_) ids.push_back(stream.id);
  const std::vector<bool> shared = shared_with_others(ids);
  return std::ranges::find(shared, true) != shared.end();
}

bool FileOutput::begin() {
  if (streams_.empty()) return false;
  flush_printed();
  for (Stream& stream : streams_) {
    look(stream);  // from the file's begin to here is no text of the session
    PrintedLog& log = *stream.log;
    log.offset = log.end();
    log.tape.position = 0;
  }
  copy_.resize(streams_.size() * sizeof(PrintedLog));
  facts_ = store::open_in_home(rest_, O_RDWR | O_CREAT | O_TRUNC);
  if (facts_ >= 0) facts_ = to_high(facts_);
  note();
  const store::SignalsBlocked inherited_by_the_thread;
  watcher_ = std::jthread([this](const std::stop_token& stop) { watch_files(stop); });
  publish();
  return true;
}

/// Notes how far the file has come.
void FileOutput::look(Stream& stream) noexcept {
  if (ended_) return;
  const off_t end =
      stream.own >= 0 ? ::lseek(stream.own, 0, SEEK_CUR) : ::lseek(stream.file, 0, SEEK_END);
  PrintedLog& log = *stream.log;
  if (end < 0 || end == log.end()) return;
  if (end < log.end()) {  // the file was cut
    log.first = log.tape.position;
    log.offset = end - static_cast<std::int64_t>(log.first);
  } else {
    log.tape.came(static_cast<std::size_t>(end - log.end()), now_us());
  }
}

void FileOutput::move_to(std::int64_t epoch, std::string_view path, bool kept) noexcept {
  flush_printed();
  const std::lock_guard lock(mutex_);
  bool is_full = false;
  for (Stream& stream : streams_) {
    look(stream);
    PrintedTape& tape = stream.log->tape;
    tape.mark(tape.position, epoch, path, kept);
    is_full = is_full || tape.marks() - stream.marks >= PrintedTape::kMarksMax;
  }
  if (!is_full) return;
  try {
    collect(false);
  } catch (const std::exception&) {  // no memory for the pieces: they are collected later
  }
}

void FileOutput::collect(bool all) {
  std::vector<store::Printed> pieces;
  for (Stream& stream : streams_) {
    const PrintedLog& log = *stream.log;
    std::uint64_t to = log.tape.position;
    if (!all) to = std::min(to, log.tape.head());
    if (log.tape.failed != 0 && !all) to = stream.taken;
    if (to > stream.taken) {
      const int file = log.tape.failed == 0 ? stream.file : -1;
      std::ranges::move(log.tape.cut(stream.taken, to,
                                     [&](std::uint64_t begin, std::uint64_t end) {
                                       return log.text(file, begin, end);
                                     }),
                        std::back_inserter(pieces));
      stream.taken = to;
    }
    stream.marks = log.tape.marks();
  }
  number_printed(pieces, next_number_);
  next_number_ += static_cast<std::int64_t>(pieces.size());
  std::ranges::move(pieces, std::back_inserter(pieces_));
}

/// Whatever came to a shared file since it was last seen to be the program's own is not kept.
void FileOutput::stop_if_shared(const std::vector<bool>& shared) {
  bool is_any_taken = false;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (!shared[i]) continue;
    Stream& stream = streams_[i];
    stream.log->tape.failed = 1;
    is_any_taken = is_any_taken || stream.taken != stream.given;
  }
  if (!is_any_taken) return;
  pieces_.clear();  // those of the other stream are read again
  for (Stream& stream : streams_) stream.taken = stream.given;
}

std::vector<store::Printed> FileOutput::take(bool all) {
  constexpr std::int64_t kPause = 2'000'000;  // in us: a piece has a cost of its own
  std::vector<FileId> ids;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now = now_us();
    if (!all && now < next_take_us_ && next_take_us_ - now <= 100 * kPause) return {};
    bool is_new = false;
    for (Stream& stream : streams_) {
      look(stream);
      is_new = is_new || stream.log->tape.position != stream.given;
      ids.push_back(stream.id);
    }
    next_take_us_ = now + kPause;
    if (all) ended_ = true;
    if (!is_new) return {};
  }
  const std::int64_t before = now_us();
  const std::vector<bool> shared = shared_with_others(ids);
  const std::lock_guard lock(mutex_);
  constexpr int kShare = 100;  // of the time for looking at all processes
  next_take_us_ += std::clamp<std::int64_t>(kShare * (now_us() - before), 0, 30 * kPause);
  stop_if_shared(shared);
  collect(all);
  for (Stream& stream : streams_) stream.given = stream.taken;
  return std::exchange(pieces_, {});
}

void FileOutput::written() noexcept {
  bool is_all = false;
  {
    const std::lock_guard lock(mutex_);
    is_all = ended_;
    for (Stream& stream : streams_) {
      PrintedTape& tape = stream.log->tape;
      tape.written = stream.given;
      is_all = is_all && stream.given == tape.position;
    }
  }
  if (is_all) forget_facts();
}

void FileOutput::stop() noexcept {
  flush_printed();
  {
    const std::lock_guard lock(mutex_);
    for (Stream& stream : streams_) look(stream);
    ended_ = true;
  }
  withdraw();
}

void FileOutput::drop() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  withdraw();
  forget_facts();
}

// ---------------------------------------------------------------------------------------------
// Facts for later commands, in case the program dies.

void FileOutput::watch_files(const std::stop_token& stop) noexcept {
  ::pthread_setname_np(::pthread_self(), "flor-printed");
  constexpr auto kPause = std::chrono::milliseconds(200);
  for (bool is_last = false; !is_last && !stop.stop_requested();) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, kPause, [] { return false; });
      is_last = ended_;
    }
    note();
  }
}

/// Copies the facts that a reader needs; writing them may take long.
std::vector<FileOutput::Range> FileOutput::copy_facts(std::int64_t now) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    look(stream);
    PrintedLog& log = *stream.log;
    const auto add = [&](const void* part, std::size_t size) {
      const std::size_t begin = i * sizeof(PrintedLog) + distance_in(log, part);
      std::memcpy(copy_.data() + begin, part, size);
      ranges.push_back({begin, size});
    };
    log.seen_us = now;
    const Noted noted{log.tape.position, log.tape.written, log.tape.marks(), log.offset,
                      log.tape.failed};
    if (noted == std::exchange(stream.noted, noted)) {
      add(&log.seen_us, sizeof log.seen_us);
      continue;
    }
    const std::int64_t end = log.end();
    log.tail_bytes = static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(end, 0, static_cast<std::int64_t>(log.tail.size())));
    const ssize_t read = ::pread(stream.file, log.tail.data(), log.tail_bytes,
                                 end - static_cast<std::int64_t>(log.tail_bytes));
    if (read != static_cast<ssize_t>(log.tail_bytes)) log.tail_bytes = 0;
    const auto* const facts = reinterpret_cast<const std::byte*>(&log.offset);
    add(facts, sizeof(PrintedLog) - distance_in(log, facts));
    for (const auto part : log.tape.parts()) add(part.data(), part.size());
  }
  return ranges;
}

void FileOutput::note() noexcept try {
  std::vector<Range> ranges;
  {
    const std::lock_guard lock(mutex_);
    if (facts_ < 0) return;
    ranges = copy_facts(now_us());
  }
  for (const Range& range : ranges) {
    // A home that cannot be written is told of elsewhere.
    [[maybe_unused]] const ssize_t count =
        ::pwrite(facts_, copy_.data() + range.begin, range.size, static_cast<off_t>(range.begin));
  }
} catch (const std::exception&) {  // no memory
}

void FileOutput::forget_facts() noexcept {
  if (facts_ >= 0) ::unlink(rest_.c_str());
}

}  // namespace flor::detail
