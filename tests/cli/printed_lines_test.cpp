// Pieces of printed text become lines, as a terminal shows them.
#include "view/printed_lines.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace flor::cli::printed_lines_test {
namespace {

using store::Printed;
using ::testing::ElementsAre;

Printed piece(std::int64_t epoch, std::string text, Printed::Stream stream = Printed::Stream::out) {
  return {.place = {.path = "e", .epoch = epoch, .step = -1, .inner = {}},
          .time_us = 1,
          .stream = stream,
          .text = std::move(text)};
}

/// "EPOCH:TEXT", with a `<` after what is overwritten.
std::vector<std::string> texts(const std::vector<Printed>& pieces) {
  std::vector<std::string> result;
  for (const PrintedLine& line : lines_of(pieces)) {
    result.push_back(std::to_string(line.place.epoch) + ":" + line_text(line) +
                     (line.overwritten ? "<" : ""));
  }
  return result;
}

TEST(PrintedLines, BelongToTheirFirstByte) {
  EXPECT_THAT(texts({piece(0, "a\nb"), piece(1, "c\n\nd"), piece(2, "\n")}),
              ElementsAre("0:a", "0:bc", "1:", "1:d"));
}

TEST(PrintedLines, OfTwoStreamsAreNotMixed) {
  EXPECT_THAT(
      texts({piece(0, "out "), piece(0, "error\n", Printed::Stream::error), piece(0, "goes on\n")}),
      ElementsAre("0:out goes on", "0:error"));
}

TEST(PrintedLines, KnowWhatProgressBarsOverwrite) {
  EXPECT_THAT(texts({piece(0, "10 %\r20 %\r"), piece(0, "done\n")}),
              ElementsAre("0:10 %<", "0:20 %<", "0:done"));
  EXPECT_THAT(texts({piece(0, "a\r\nb\r"), piece(0, "\nc")}), ElementsAre("0:a", "0:b", "0:c"));
}

TEST(PrintedLines, SayWhereBytesAreMissing) {
  EXPECT_THAT(texts({piece(0, "a"), piece(1, "2048", Printed::Stream::gap), piece(2, "b\n")}),
              ElementsAre("0:a",
                          "1:[2.0 KiB of output are not kept here: --flor_output sets how "
                          "much is]",
                          "2:b"));
}

TEST(PrintedLines, AreSafeToShow) {
  EXPECT_THAT(texts({piece(0, "\x1b[2Jgone\n")}), ElementsAre("0:\\x1b[2Jgone"));
}

RC_GTEST_PROP(PrintedLines, DoNotDependOnHowTheTextWasCut, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab\r\n")));
  std::vector<Printed> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const auto count = *rc::gen::inRange<std::size_t>(1, 4);
    pieces.push_back(piece(0, text.substr(at, count)));
    at += count;
  }
  RC_ASSERT(texts(pieces) == texts({piece(0, text)}));
}

}  // namespace
}  // namespace flor::cli::printed_lines_test
