#include "protocol/printed_tape.h"

#include "file/filesystem.h"
#include "file/paths.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace flor::detail {

using store::Printed;

namespace {

void add_gap(std::vector<Printed>& pieces, Printed piece, std::uint64_t bytes) {
  const bool goes_on = !pieces.empty() && pieces.back().stream == Printed::Stream::gap;
  if (goes_on) {
    pieces.back().text = std::to_string(std::stoull(pieces.back().text) + bytes);
    return;
  }
  piece.stream = Printed::Stream::gap;
  piece.text = std::to_string(bytes);
  pieces.push_back(std::move(piece));
}

std::string read_log(int file, std::int64_t offset, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(file, text.data() + done, bytes - done,
                                  static_cast<off_t>(offset) + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

/// Opens the file to which a dead program printed, or returns -1 if it is another one by now.
int open_log(const PrintedLog& log) {
  const int file =
      ::open(log.path.data(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return -1;
  struct stat status {};
  const auto bytes = static_cast<std::int64_t>(log.tail_bytes);
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == log.number &&
      status.st_size >= log.end() &&
      read_log(file, log.end() - bytes, log.tail_bytes) ==
          std::string_view(log.tail.data(), log.tail_bytes)) {
    return file;
  }
  ::close(file);
  return -1;
}

/// Adds what the program printed after it was last seen alive: all that the file got within a
/// moment, unless it has gone on growing, for then others write to it.
void add_last_words(PrintedLog& log, int file) {
  constexpr std::int64_t kMoment = 1'000'000;
  struct stat status {};
  if (::fstat(file, &status) != 0 || status.st_size <= log.end()) return;
  const std::int64_t changed = status.st_mtim.tv_sec * 1'000'000 + status.st_mtim.tv_nsec / 1000;
  if (changed > log.seen_us + kMoment) return;
  log.tape.mark(log.tape.position, -1, {}, log.tape.keeps());
  log.tape.came(static_cast<std::size_t>(status.st_size - log.end()), changed);
}

std::vector<Printed> rest_of_log(PrintedLog& log, bool is_own) {
  const PrintedTape& tape = log.tape;
  const int file = is_own && tape.failed == 0 ? open_log(log) : -1;
  if (file < 0) {
    std::vector<Printed> lost;
    Printed gap;
    gap.time_us = log.seen_us;
    if (tape.keeps() && tape.position > tape.written) {
      add_gap(lost, std::move(gap), tape.position - tape.written);
    }
    return lost;
  }
  add_last_words(log, file);
  std::vector<Printed> pieces =
      tape.cut(tape.written, tape.position,
               [&](std::uint64_t from, std::uint64_t to) { return log.text(file, from, to); });
  ::close(file);
  return pieces;
}

bool is_sound_log(const PrintedLog& log) {
  constexpr std::int64_t kEver = std::int64_t{1} << 61;
  const auto tail = static_cast<std::int64_t>(std::min<std::uint64_t>(log.tail_bytes, kEver));
  return log.offset > -kEver && log.offset < kEver && log.tail_bytes <= log.tail.size() &&
         log.end() >= tail && log.path.back() == '\0' && log.seen_us > -kEver &&
         log.seen_us < kEver;
}

}  // namespace

PrintedTape::Shape PrintedTape::shape_of(std::uint64_t limit) {
  const std::uint64_t half = std::max<std::uint64_t>(limit / 2, 1);
  return {.head = half, .ring = half + kReadBytes};
}

PrintedTape* PrintedTape::make(std::byte* memory, const Shape& shape, Printed::Stream stream) {
  auto* tape = new (memory) PrintedTape;
  tape->shape_ = shape;
  tape->stream_ = stream;
  return tape;
}

void PrintedTape::begin_without_text(std::uint64_t limit, Printed::Stream stream) {
  shape_ = shape_of(limit);
  stream_ = stream;
  magic_ = kWithoutText;
}

std::span<std::byte> PrintedTape::room() {
  const std::uint64_t at = position.load(std::memory_order_relaxed);
  std::uint64_t offset = at, end = shape_.head;
  if (at >= shape_.head) {
    offset = shape_.head + (at - shape_.head) % shape_.ring;
    end = shape_.bytes();
  }
  return {bytes() + offset, std::min<std::uint64_t>(end - offset, kReadBytes)};
}

void PrintedTape::came(std::size_t count, std::int64_t now_us) {
  const std::uint64_t at = position.load(std::memory_order_relaxed);
  // Time stamps are dense in the head, which is cut soon. The stamps must also reach back as far as
  // the ring.
  constexpr std::int64_t kOften = 100'000, kSeldom = 1'000'000, kAlways = 60'000'000;
  const Clock& last = clock_[(clocks_ + kClocks - 1) % kClocks];
  const std::int64_t since = now_us - last.time_us;
  const bool far = at - last.position >= shape_.ring / (kClocks / 2);
  if (clocks_ == 0 || since < 0 || since >= kAlways ||
      (at < shape_.head ? since >= kOften : since >= kSeldom && far)) {
    clock_[clocks_ % kClocks] = {at, now_us};
    ++clocks_;
  }
  position.store(at + count, std::memory_order_release);
}

std::size_t PrintedTape::used() const {
  const std::uint64_t at = position.load(std::memory_order_relaxed);
  return sizeof(PrintedTape) + (magic_ == kMagic ? std::min(at, shape_.bytes()) : 0);
}

std::array<std::span<const std::byte>, 3> PrintedTape::parts() const {
  const auto* const begin = reinterpret_cast<const std::byte*>(this);
  const auto* const marks = reinterpret_cast<const std::byte*>(mark_.data());
  return {std::as_bytes(std::span(mark_).first(std::min<std::size_t>(marks_, kMarks))),
          std::as_bytes(std::span(clock_).first(std::min<std::size_t>(clocks_, kClocks))),
          std::span(begin, static_cast<std::size_t>(marks - begin))};
}

void PrintedTape::mark(std::uint64_t at, std::int64_t epoch, std::string_view path, bool kept) {
  // If nothing was printed at the previous place, its mark is overwritten.
  const bool same = marks_ > 0 && mark_[(marks_ - 1) % kMarks].position == at;
  Mark& mark = mark_[(same ? marks_ - 1 : marks_) % kMarks];
  mark.position = at;
  mark.epoch = epoch;
  mark.kept = kept ? 1 : 0;
  mark.length = static_cast<std::uint16_t>(std::min(path.size(), mark.path.size()));
  std::memcpy(mark.path.data(), path.data(), mark.length);
  if (!same) ++marks_;
}

std::uint64_t PrintedTape::oldest() const {
  const std::uint64_t at = position.load(std::memory_order_acquire);
  const std::uint64_t whole = shape_.ring - kReadBytes;  // the next read may overwrite the rest
  return at > shape_.head + whole ? at - whole : shape_.head;
}

std::int64_t PrintedTape::time_at(std::uint64_t at) const {
  std::int64_t time = 0;
  for (std::uint64_t i = clocks_ > kClocks ? clocks_ - kClocks : 0; i < clocks_; ++i) {
    const Clock& clock = clock_[i % kClocks];
    if (clock.position > at && time != 0) break;
    time = clock.time_us;
  }
  return time;
}

std::string PrintedTape::text(std::uint64_t from, std::uint64_t to) const {
  std::string text(to - from, '\0');
  for (std::uint64_t at = from; at < to;) {
    const bool in_head = at < shape_.head;
    const std::uint64_t offset = in_head ? at : shape_.head + (at - shape_.head) % shape_.ring;
    const std::uint64_t end = in_head ? shape_.head : shape_.bytes();
    const std::uint64_t count = std::min(to - at, end - offset);
    std::memcpy(text.data() + (at - from), bytes() + offset, count);
    at += count;
  }
  return text;
}

std::vector<Printed> PrintedTape::cut(std::uint64_t from, std::uint64_t to) const {
  return cut(from, to, [this](std::uint64_t begin, std::uint64_t end) { return text(begin, end); });
}

std::vector<Printed> PrintedTape::cut(std::uint64_t from, std::uint64_t to,
                                      const Reader& read) const {
  std::vector<Printed> pieces;
  const std::uint64_t first_mark = marks_ > kMarks ? marks_ - kMarks : 0;
  const std::uint64_t last_known = first_mark > 0 ? mark_[first_mark % kMarks].position : 0;
  // After the head, only the last bytes are kept. Everywhere, only bytes whose place is known can
  // be returned.
  const std::uint64_t ring = std::max(oldest(), last_known);
  std::uint64_t next = first_mark;
  const auto place_at = [&](std::uint64_t at) -> const Mark* {
    while (next < marks_ && mark_[next % kMarks].position <= at) ++next;
    return next == first_mark ? nullptr : &mark_[(next - 1) % kMarks];
  };
  for (std::uint64_t at = from; at < to;) {
    const Mark* const mark = place_at(at);
    Printed piece;
    piece.stream = stream_;
    piece.time_us = time_at(at);
    if (mark) {
      piece.place.epoch = mark->epoch;
      piece.place.path.assign(mark->path.data(), mark->length);
    }
    std::uint64_t end = std::min(to, at + kReadBytes);
    if (at < shape_.head) end = std::min(end, shape_.head);
    const bool is_gap = at < last_known || (at >= shape_.head && at < ring);
    if (is_gap) {
      end = std::min(at < shape_.head ? std::min(last_known, shape_.head) : ring, to);
      // After a gap, text continues with a whole line if possible.
      if (end < to && end == ring && ring > shape_.head) {
        const std::string begin = read(end, std::min(to, end + kReadBytes));
        const std::size_t line = begin.find('\n');
        if (line != begin.npos) end += line + 1;
      }
    } else if (next < marks_) {
      end = std::min(end, mark_[next % kMarks].position);
    }
    if (!is_gap) piece.text = read(at, end);
    if (!mark || mark->kept) {
      const std::uint64_t missing = end - at - piece.text.size();
      Printed gap = piece;
      if (!piece.text.empty()) pieces.push_back(std::move(piece));
      if (missing > 0) add_gap(pieces, std::move(gap), missing);
    }
    at = end;
  }
  return pieces;
}

bool PrintedTape::is_sound(std::uint64_t bytes) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40, kEver = std::uint64_t{1} << 62;
  constexpr std::int64_t kEpochs = std::int64_t{1} << 52;
  if (magic_ != kMagic && magic_ != kWithoutText) return false;
  if (shape_.head == 0 || shape_.head > kMost || shape_.ring > kMost) return false;
  if (shape_.ring <= kReadBytes || stream_ > Printed::Stream::error) return false;
  if (written > position || position > kEver || used() > bytes) return false;
  for (std::uint64_t i = marks_ > kMarks ? marks_ - kMarks : 0; i < marks_; ++i) {
    const Mark& mark = mark_[i % kMarks];
    if (mark.length > mark.path.size() || mark.epoch < -1 || mark.epoch > kEpochs) return false;
  }
  return true;
}

std::string PrintedLog::text(int file, std::uint64_t from, std::uint64_t to) const {
  if (file < 0 || from < first) return {};
  return read_log(file, static_cast<std::int64_t>(from) + offset, to - from);
}

std::vector<Printed> read_printed_rest(const std::filesystem::path& file) try {
  std::vector<Printed> pieces;
  const store::File in(store::Filesystem::system(), file, O_RDONLY);
  struct stat status {};
  const bool is_own = ::fstat(in.descriptor(), &status) == 0 && status.st_uid == ::geteuid();
  const std::uint64_t size = in.size();
  const auto memory = std::make_unique_for_overwrite<std::uint64_t[]>(size / 8 + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.get());
  if (in.read_at({bytes, size}, 0) != size) return pieces;
  for (std::uint64_t at = 0; at + sizeof(PrintedTape) <= size;) {
    const auto* tape = reinterpret_cast<const PrintedTape*>(bytes + at);
    if (!tape->is_sound(size - at)) break;
    if (tape->magic_ == PrintedTape::kMagic) {
      std::ranges::move(tape->cut(tape->written, tape->position), std::back_inserter(pieces));
      at += (tape->used() + 7) / 8 * 8;
      continue;
    }
    auto* const log = reinterpret_cast<PrintedLog*>(bytes + at);
    if (at + sizeof(PrintedLog) > size || !is_sound_log(*log)) break;
    std::ranges::move(rest_of_log(*log, is_own), std::back_inserter(pieces));
    at += sizeof(PrintedLog);
  }
  return pieces;
} catch (const Error&) {
  return {};
}

std::filesystem::path printed_rest_file(const std::filesystem::path& home, std::string_view run) {
  return store::Paths{.home = home}.run(run) / "output";
}

void number_printed(std::vector<Printed>& pieces, std::int64_t first) {
  std::ranges::stable_sort(pieces, {}, &Printed::time_us);
  for (Printed& piece : pieces) piece.number = first++;
}

std::vector<Printed> all_printed(const store::Catalog& catalog, const std::filesystem::path& home,
                                 const store::Run& run, std::int64_t first_epoch,
                                 std::int64_t last_epoch) {
  std::vector<Printed> all = store::read_printed(catalog, run.id, first_epoch, last_epoch);
  if (run.state == store::RunState::running) return all;
  std::vector<Printed> rest = read_printed_rest(printed_rest_file(home, run.key));
  if (rest.empty()) return all;
  const std::vector<Printed> known = store::read_printed(catalog, run.id);
  number_printed(rest, known.empty() ? 0 : known.back().number + 1);
  for (Printed& piece : rest) {
    if (piece.place.epoch < first_epoch || piece.place.epoch > last_epoch) continue;
    all.push_back(std::move(piece));
  }
  return all;
}

void take_up_printed_rest(store::Catalog& catalog, const std::filesystem::path& home,
                          const store::Run& run) {
  const std::filesystem::path file = printed_rest_file(home, run.key);
  std::vector<Printed> rest = read_printed_rest(file);
  if (!rest.empty()) {
    const std::vector<Printed> known = store::read_printed(catalog, run.id);
    number_printed(rest, known.empty() ? 0 : known.back().number + 1);
    std::vector<store::Value> values;
    for (Printed& piece : rest) values.push_back(store::value_of(std::move(piece)));
    catalog.add_values(run.id, values);
  }
  std::error_code error;
  std::filesystem::remove(file, error);
}

}  // namespace flor::detail
