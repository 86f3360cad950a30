#include "view/printed_lines.h"

#include "output/terminal_text.h"
#include "output/time.h"
#include "protocol/printed_tape.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <utility>

namespace flor::cli {
namespace {

using Stream = store::Printed::Stream;

/// Joins pieces of all streams into lines, in the order in which the lines begin.
class LineJoiner {
 public:
  void add(const store::Printed& piece) {
    if (piece.stream == Stream::gap) {
      open_.fill(kNone);  // the open lines have lost their ends
      lines_.push_back(begun(piece));
      lines_.back().text = piece.text;
      return;
    }
    std::size_t& open = open_[static_cast<std::size_t>(piece.stream)];
    for (std::size_t at = 0; at < piece.text.size();) {
      // "\r\n" is one line end, even if it is split between two pieces.
      if (open == kNone && after_return_[static_cast<std::size_t>(piece.stream)] &&
          piece.text[at] == '\n') {
        last_overwritten(piece.stream).overwritten = false;
        after_return_[static_cast<std::size_t>(piece.stream)] = false;
        ++at;
        continue;
      }
      if (open == kNone) {
        open = lines_.size();
        lines_.push_back(begun(piece));
      }
      const std::size_t end = piece.text.find_first_of("\r\n", at);
      const bool ends = end != piece.text.npos;
      lines_[open].text.append(piece.text, at, (ends ? end : piece.text.size()) - at);
      if (!ends) break;
      const bool returns = piece.text[end] == '\r';
      lines_[open].overwritten = returns;
      after_return_[static_cast<std::size_t>(piece.stream)] = returns;
      last_[static_cast<std::size_t>(piece.stream)] = open;
      open = kNone;
      at = end + 1;
    }
  }

  std::vector<PrintedLine> take() && { return std::move(lines_); }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  static PrintedLine begun(const store::Printed& piece) {
    return {.place = piece.place, .time_us = piece.time_us, .stream = piece.stream, .text = {}};
  }
  PrintedLine& last_overwritten(Stream stream) {
    return lines_[last_[static_cast<std::size_t>(stream)]];
  }

  std::vector<PrintedLine> lines_;
  std::array<std::size_t, 3> open_{kNone, kNone, kNone}, last_{};
  std::array<bool, 3> after_return_{};
};

}  // namespace

std::vector<PrintedLine> lines_of(const std::vector<store::Printed>& pieces) {
  LineJoiner joiner;
  for (const store::Printed& piece : pieces) joiner.add(piece);
  return std::move(joiner).take();
}

std::vector<PrintedLine> printed_lines(const store::Store& store, const store::Run& run,
                                       const PrintedQuestion& question) {
  // All pieces are read, because a line may end in a later epoch than it began.
  std::vector<PrintedLine> lines =
      lines_of(detail::all_printed(store.catalog(), store.home(), run));
  std::erase_if(lines, [&](const PrintedLine& line) {
    const std::int64_t epoch = line.place.epoch;
    if (epoch < question.epochs.first || epoch > question.epochs.last) return true;
    if (!question.grep) return line.overwritten;
    return line.is_gap() || !question.grep->found_in(line.text);
  });
  return lines;
}

std::string line_text(const PrintedLine& line) {
  if (!line.is_gap()) return printable(line.text);
  std::uint64_t count = 0;
  std::from_chars(line.text.data(), line.text.data() + line.text.size(), count);
  return fmt::format("[{} of output are not kept here: --flor_output sets how much is]",
                     store::print_bytes(count));
}

Json line_json(const PrintedLine& line) {
  Json json = {{"epoch", line.place.epoch < 0 ? Json() : Json(line.place.epoch)},
               {"loop", json_text(line.place.path)},
               {"time", line.time_us == 0 ? Json() : json_time(line.time_us)},
               {"stream", std::string(to_string(line.stream))}};
  json["text"] = line.is_gap() ? line_text(line) : line.text;
  return json;
}

}  // namespace flor::cli
