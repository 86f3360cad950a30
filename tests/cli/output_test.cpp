// The parts that make output: text, tables, times, numbers, CSV.
#include "choose/run_spec.h"
#include "output/color.h"
#include "output/csv.h"
#include "output/json.h"
#include "output/stream.h"
#include "output/table.h"
#include "output/terminal_text.h"
#include "output/time.h"
#include "output/values.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace flor::cli {
namespace {

/// What `write` sends to an Output.
template <typename Write>
std::string captured(Write write) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Output out(ends[1]);
  write(out);
  out.flush();
  ::close(ends[1]);
  std::string text(65536, '\0');
  const ssize_t count = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

const Style kPlain(ColorChoice::never, false);

TEST(Text, EscapesWhatActsOnATerminal) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("a\tb\nc"), "a\\tb\\nc");
  EXPECT_EQ(printable(std::string_view("\x1b[0m\0\x7f", 6)), "\\x1b[0m\\x00\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u{9b}");
  EXPECT_EQ(printable("\u202eabc"), "\\u{202e}abc");
  EXPECT_EQ(printable("grün 日本"), "grün 日本");
}

TEST(Text, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, CountsColumnsOfTheTerminal) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("grün"), 4u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
}

TEST(Text, ShortensToAWidth) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 4), "abc…");
  EXPECT_EQ(shortened("日本語", 4), "日…");
  EXPECT_EQ(shortened("abc", 0), "");
}

TEST(Text, FindsTheNearestWord) {
  const std::vector<std::string> words{"accuracy", "loss", "learning_rate"};
  EXPECT_EQ(nearest("los", words), "loss");
  EXPECT_EQ(nearest("acuracy", words), "accuracy");
  EXPECT_EQ(nearest("lsos", words), "loss");
  EXPECT_EQ(nearest("learn", words), "learning_rate");
  EXPECT_EQ(nearest("gradient", words), std::nullopt);
  EXPECT_EQ(did_you_mean("gradient", words), "");
}

TEST(Table, AlignsCellsAndTrimsLines) {
  Table table({{"name"}, {"n", Align::right}, {"note"}});
  for (const char* cell : {"a", "1", "x", "long", "100", ""}) table.add(cell);
  EXPECT_EQ(captured([&](Output& out) { table.print(out, kPlain); }),
            "name    n  note\n"
            "a       1  x\n"
            "long  100\n");
}

TEST(Table, ColoursTextAndNotThePaddingAroundIt) {
  Table table({{"a", Align::right}}, Table::Header::hidden);
  table.add("1", Tone::bad);
  table.add("22");
  const Style colored(ColorChoice::always, false);
  EXPECT_EQ(captured([&](Output& out) { table.print(out, colored, 2); }),
            "   \x1b[31m1\x1b[0m\n  22\n");
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(captured([](Output& out) {
              CsvWriter csv(out);
              for (const char* field : {"a", "b,c", "say \"no\"", "two\nlines", ""})
                csv.field(field);
              csv.end_row();
            }),
            "a,\"b,c\",\"say \"\"no\"\"\",\"two\nlines\",\n");
}

TEST(JsonOutput, StreamsAListAsAValidDocument) {
  Json head = document("test");
  head["nested"] = {{"a", {{"b", 1}}}};
  const auto text = captured([&](Output& out) {
    JsonList list(out, head, "rows");
    list.add({{"x", 1}});
    list.add({{"x", 2}});
    list.end();
  });
  const Json parsed = Json::parse(text);
  EXPECT_EQ(parsed["nested"]["a"]["b"], 1);
  EXPECT_EQ(parsed["rows"], Json::parse(R"([{"x":1},{"x":2}])"));
  const auto empty = captured([&](Output& out) { JsonList(out, head, "rows").end(); });
  EXPECT_EQ(Json::parse(empty)["rows"], Json::array());
}

TEST(Time, IsWrittenInRfc3339) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(1'700'000'000'123'456), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999999Z");
}

TEST(Time, IsRelativeForPeople) {
  constexpr std::int64_t kNow = 1'700'000'000'000'000, kSecond = 1'000'000;
  EXPECT_EQ(relative(kNow, kNow), "just now");
  EXPECT_EQ(relative(kNow - 42 * kSecond, kNow), "42 s ago");
  EXPECT_EQ(relative(kNow - 90 * kSecond, kNow), "1 min ago");
  EXPECT_EQ(relative(kNow - 3600 * kSecond, kNow), "1 hour ago");
  EXPECT_EQ(relative(kNow - 47 * 3600 * kSecond, kNow), "47 hours ago");
  EXPECT_EQ(relative(kNow - 5 * 86400 * kSecond, kNow), "5 days ago");
  EXPECT_EQ(relative(kNow - 40 * 86400 * kSecond, kNow), "2023-10-05");
  EXPECT_EQ(relative(kNow + 86400 * kSecond, kNow), "2023-11-15");
}

TEST(Time, GivesDurationsAndSizesThreeDigits) {
  EXPECT_EQ(duration(0.0000852), "85 us");
  EXPECT_EQ(duration(0.0123), "12.3 ms");
  EXPECT_EQ(duration(3.214), "3.21 s");
  EXPECT_EQ(duration(245), "4 min 05 s");
  EXPECT_EQ(duration(11530), "3 h 12 min");
  EXPECT_EQ(duration(std::nan("")), "?");
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1229), "1.2 KiB");
  EXPECT_EQ(bytes(35'000'000), "33 MiB");
  EXPECT_EQ(bytes(1023 * 1024), "1.0 MiB");
  EXPECT_EQ(bytes(UINT64_MAX), "16 EiB");
}

TEST(Time, WhatRemainsIsSaidRoundly) {
  EXPECT_EQ(remaining(0.2), "1 s");
  EXPECT_EQ(remaining(44.6), "45 s");
  EXPECT_EQ(remaining(61), "2 min");
  EXPECT_EQ(remaining(3600), "1 h");
  EXPECT_EQ(remaining(11400), "3 h 10 min");
  EXPECT_EQ(remaining(-1), "?");
}

TEST(Numbers, ParseBackToTheSameDouble) {
  for (const double number :
       {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.123456789, std::nextafter(1.0, 2.0)}) {
    EXPECT_EQ(std::strtod(exact(number).c_str(), nullptr), number) << exact(number);
  }
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(exact(std::nan("")), "nan");
  EXPECT_EQ(exact(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Numbers, ThatJsonLacksBecomeText) {
  EXPECT_EQ(json_number(std::nan("")), "NaN");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(Epochs, AreReadAsRanges) {
  const auto range = [](const char* text) {
    const EpochRange read = parse_epochs(text);
    return std::pair(read.first, read.last);
  };
  EXPECT_EQ(range("3"), std::pair(3L, 3L));
  EXPECT_EQ(range("2..5"), std::pair(2L, 5L));
  EXPECT_EQ(range("2.."), std::pair(2L, INT64_MAX));
  EXPECT_EQ(range("..5"), std::pair(0L, 5L));
  for (const char* wrong : {"", "..", "5..2", "-1..2", "a", "1...2", "1..2..3", " 1"}) {
    EXPECT_THROW(parse_epochs(wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace flor::cli
