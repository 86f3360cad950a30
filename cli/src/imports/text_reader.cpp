#include "imports/text_reader.h"

#include "file/filesystem.h"
#include "imports/clock_text.h"
#include "imports/line_reader.h"
#include "imports/number_finder.h"
#include "output/terminal_text.h"

#include <flor/store/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace flor::cli {
namespace {

/// Text of one place that is stored together, and the time after which a new piece tells its own.
constexpr std::size_t kPieceMax = std::size_t{64} << 10;
constexpr std::int64_t kPieceTime = 1'000'000;

/// "epoch 3", but neither "max_epoch=3", "epochs: 3" nor "epoch': 0.5".
constexpr const char* kEpoch = R"(\b[Ee](?:poch|POCH)\W{0,3}(\d+)(?:[^.\d]|\.[^\d]|\.?$))";

/// Finds the number of a loop in lines.
class LoopFinder {
 public:
  LoopFinder(const char* option, const std::string& given, const char* otherwise, std::int64_t most)
      : option_(option), is_given_(!given.empty()), most_(most) {
    if (!is_given_ && !otherwise) return;
    pattern_.emplace(option, is_given_ ? given : otherwise);
    if (!pattern_->has_group()) {
      throw UsageError(
          fmt::format("{} '{}' has no brackets: put them around the number, as in "
                      "'epoch (\\d+)'",
                      option, printable(given)));
    }
  }

  /// The number in this line. One that was found without being asked for, and is none, is no epoch.
  std::optional<std::int64_t> in(std::string_view line) {
    if (!pattern_) return std::nullopt;
    const bool may_have =
        is_given_ || line.find("poch") != line.npos || line.find("POCH") != line.npos;
    const auto group = may_have ? pattern_->group_in(line) : std::nullopt;
    if (!group) return std::nullopt;
    const std::string_view text = line.substr(group->begin, group->end - group->begin);
    if (cut_.note(line, *group) && !is_given_) return std::nullopt;
    const auto number = whole_integer(text);
    if (number && *number >= 0 && *number <= most_) return number;
    if (!is_given_) return std::nullopt;
    throw UsageError(fmt::format("{} finds '{}' in '{}', which is no whole number up to {}",
                                 option_, printable(text), shortened(printable(line), 60), most_));
  }
  /// A line about numbers of which only a part was found; empty if there were none.
  std::string doubt() const {
    if (!cut_.any()) return {};
    return is_given_ ? fmt::format("{} takes a part of a number: {}", option_, cut_.text())
                     : fmt::format("{}: taken for no epoch; {} REGEX says what is one", cut_.text(),
                                   option_);
  }

 private:
  const char* option_;
  CutNumbers cut_;
  bool is_given_;
  std::int64_t most_;
  std::optional<Pattern> pattern_;
};

class TextReader {
 public:
  TextReader(const store::File& file, const TextQuestion& question, LoggedRun& run)
      : lines_(file),
        run_(run),
        epochs_("--epoch", question.epoch, kEpoch, kLoggedEpochMax),
        steps_("--step", question.step, nullptr, kLoggedStepMax) {
    for (const std::string& regex : question.metrics) finders_.emplace_back("--extract", regex);
    const std::uint64_t half = question.kept_bytes / 2;
    if (lines_.size() <= question.kept_bytes) return;
    gap_begin_ = half;
    gap_end_ = lines_.size() - half;
  }

  void read() {
    std::int64_t cut = 0;
    bool has_end = true;
    for (LogLine line; lines_.next(line);) {
      if (line.number == 1) require_text_of_bytes(line.text);
      const std::size_t before = run_.values();
      look_at(line.content());
      keep(line);
      run_.lines += line.is_cut ? 0 : 1;
      cut += line.is_cut && !line.text.ends_with('\r') ? 1 : 0;
      has_end = line.has_end() || line.text.ends_with('\r') || run_.values() == before;
    }
    end_gap();
    for (const std::string& doubt : {epochs_.doubt(), steps_.doubt()}) {
      if (!doubt.empty()) run_.remark(doubt);
    }
    for (const NumberFinder& finder : finders_) {
      if (const std::string doubt = finder.doubt(); !doubt.empty()) run_.remark(doubt);
    }
    if (cut > 0) {
      run_.remark(fmt::format("lines of more than {} were cut in {}: a number there may be missing",
                              store::print_bytes(kLineMax), counted(cut, "place")));
    }
    if (!has_end) run_.remark("the last line has no line end: its last number may be cut");
  }

 private:
  /// Lines that a progress bar overwrites count, too.
  void look_at(std::string_view text) {
    for (;;) {
      const std::size_t end = text.find('\r');
      const std::string_view line = text.substr(0, end);
      look_at_line(line.find('\x1b') == line.npos ? line : without_escapes(line));
      if (end == text.npos) return;
      text.remove_prefix(end + 1);
    }
  }

  void look_at_line(std::string_view line) {
    if (const auto epoch = epochs_.in(line)) {
      if (*epoch != place_.epoch) place_.step = -1;
      place_.epoch = *epoch;
      says_epochs_ = true;
    }
    if (const auto step = steps_.in(line)) {
      place_.step = *step;
      if (!says_epochs_) place_.epoch = 0;  // steps without epochs are those of one epoch
    }
    if (const auto time = clock_of_line(line)) {
      time_us_ = *time;
      run_.notice_time(place_, *time);
    }
    for (NumberFinder& finder : finders_) {
      finder.find(line, [&](ValueWord&& number) {
        if (LoggedSeries* series = run_.series(finder.name())) {
          series->add(place_, number.type, std::move(number.value));
        }
      });
    }
  }

  void keep(const LogLine& line) {
    const std::uint64_t end = line.offset + line.text.size();
    if (gap_begin_ < gap_end_ && end > gap_begin_ && line.offset < gap_end_) {
      if (left_out_ == 0) gap_place_ = place_;
      left_out_ += line.text.size();
      return;
    }
    end_gap();
    std::vector<store::Printed>& pieces = run_.printed;
    const bool goes_on = !pieces.empty() && pieces.back().stream != store::Printed::Stream::gap &&
                         pieces.back().place.epoch == place_.epoch &&
                         pieces.back().text.size() + line.text.size() <= kPieceMax &&
                         time_us_ - pieces.back().time_us < kPieceTime;
    if (!goes_on) add_piece(place_, store::Printed::Stream::both);
    pieces.back().text += line.text;
  }

  void end_gap() {
    if (left_out_ == 0) return;
    add_piece(gap_place_, store::Printed::Stream::gap);
    run_.printed.back().text = std::to_string(left_out_);
    left_out_ = 0;
  }

  void add_piece(const LoggedPlace& place, store::Printed::Stream stream) {
    store::Printed piece;
    piece.place.epoch = place.epoch;
    piece.number = std::ssize(run_.printed);
    piece.time_us = time_us_;
    piece.stream = stream;
    run_.printed.push_back(std::move(piece));
  }

  LineReader lines_;
  LoggedRun& run_;
  LoopFinder epochs_, steps_;
  std::vector<NumberFinder> finders_;
  LoggedPlace place_, gap_place_;
  bool says_epochs_ = false;
  std::int64_t time_us_ = 0;  ///< of the latest line that tells one
  std::uint64_t gap_begin_ = 0, gap_end_ = 0, left_out_ = 0;
};

}  // namespace

void read_text(const store::File& file, const TextQuestion& question, LoggedRun& run) {
  TextReader(file, question, run).read();
}

}  // namespace flor::cli
