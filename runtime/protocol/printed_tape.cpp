#include "protocol/printed_tape.h"

#include "file/filesystem.h"
#include "file/paths.h"

#include <flor/store/error.h>

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace flor::detail {

using store::Printed;

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
  return sizeof(PrintedTape) + std::min(at, shape_.bytes());
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
        const std::string begin = text(end, std::min(to, end + kReadBytes));
        const std::size_t line = begin.find('\n');
        if (line != begin.npos) end += line + 1;
      }
      piece.stream = Printed::Stream::gap;
      piece.text = std::to_string(end - at);
    } else if (next < marks_) {
      end = std::min(end, mark_[next % kMarks].position);
    }
    if (!is_gap) piece.text = text(at, end);
    if (!mark || mark->kept) pieces.push_back(std::move(piece));
    at = end;
  }
  return pieces;
}

bool PrintedTape::is_sound(std::uint64_t bytes) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40, kEver = std::uint64_t{1} << 62;
  constexpr std::int64_t kEpochs = std::int64_t{1} << 52;
  if (magic_ != kMagic || shape_.head == 0 || shape_.head > kMost || shape_.ring > kMost) {
    return false;
  }
  if (shape_.ring <= kReadBytes || stream_ > Printed::Stream::error) return false;
  if (written > position || position > kEver || used() > bytes) return false;
  for (std::uint64_t i = marks_ > kMarks ? marks_ - kMarks : 0; i < marks_; ++i) {
    const Mark& mark = mark_[i % kMarks];
    if (mark.length > mark.path.size() || mark.epoch < -1 || mark.epoch > kEpochs) return false;
  }
  return true;
}

std::vector<Printed> read_printed_rest(const std::filesystem::path& file) try {
  std::vector<Printed> pieces;
  const store::File in(store::Filesystem::system(), file, O_RDONLY);
  const std::uint64_t size = in.size();
  const auto memory = std::make_unique_for_overwrite<std::uint64_t[]>(size / 8 + 1);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.get());
  if (in.read_at({bytes, size}, 0) != size) return pieces;
  for (std::uint64_t at = 0; at + sizeof(PrintedTape) <= size;) {
    const auto* tape = reinterpret_cast<const PrintedTape*>(bytes + at);
    if (!tape->is_sound(size - at)) break;
    std::ranges::move(tape->cut(tape->written, tape->position), std::back_inserter(pieces));
    at += (tape->used() + 7) / 8 * 8;
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
