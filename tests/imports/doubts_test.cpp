// Where the numbers of a run are others than those of its log, or may be, a line says so; and no
// file takes more memory than it is worth.
#include "imports/event_bytes.h"
#include "imports/line_reader.h"
#include "imports/written.h"

#include <gmock/gmock.h>

namespace flor::cli::doubts_test {
namespace {

using imports_test::csv;
using imports_test::read;
using imports_test::refusal;
using imports_test::values;
using imports_test::Written;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LoggedRun json(const std::string& content) { return read(content, LogFormat::jsonl); }

// Memory.

/// Each member of such an object once had a name of its own: 8,000 of them took 1.6 GB.
TEST(Memory, IsNotTakenForNamesThatAreRefused) {
  std::string line = "{\"" + std::string(200'000, 'k') + "\":{";
  for (int i = 0; i < 8000; ++i) line += fmt::format("\"{}\":1,", i);
  const LoggedRun run = json(line + "\"last\":1},\"a\":2}\n");
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=2"));
  EXPECT_EQ(run.refused_names(), 1u);
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("kkk...' is left out: a name has at most 1000")));
}

TEST(Memory, CountsRefusedNamesAsColumns) {
  std::string lines;
  for (int line = 0; line < 3; ++line) {
    lines += "{\"a\":1";
    for (int i = 0; i < 50'001; ++i) lines += fmt::format(",\"flor:{}.{}\":1", line, i);
    lines += "}\n";
  }
  EXPECT_THAT(refusal(lines, LogFormat::jsonl), HasSubstr("row 2: more than 100000 columns"));
  const LoggedRun run = json(lines.substr(0, lines.find('\n') + 1));
  EXPECT_EQ(run.refused_names(), 50'001u);
  EXPECT_THAT(run.remarks, SizeIs(9));
  EXPECT_THAT(run.remarks.back(), HasSubstr("49993 more names are left out"));
}

TEST(Memory, IsBoundedForLongNamesOfManyColumns) {
  std::string line = "{\"" + std::string(900, 'k') + "\":{";
  for (int i = 0; i < 40'000; ++i) line += fmt::format("\"{}\":1,", i);
  EXPECT_THAT(refusal(line + "\"last\":1}}\n", LogFormat::jsonl),
              HasSubstr("row 1: the names of the columns take more than 16 MiB"));
}

TEST(Names, ThatArePrintedAlikeAreOneMetric) {
  const LoggedRun run = json("{\"a\\u0002\": 1}\n{\"a\\\\x02\": 2}\n{\"a\\u0002\": 3}\n");
  EXPECT_THAT(run.all_series(), SizeIs(1));
  EXPECT_THAT(values(run), SizeIs(3));
}

TEST(Names, OfColumnsAreEachOnce) {
  EXPECT_THAT(values(csv("a,a.2,a,a\n1,2,3,4\n")),
              ElementsAre("a -1.-1=1", "a.2 -1.-1=2", "a.3 -1.-1=3", "a.4 -1.-1=4"));
  const LoggedRun nested = json("{\"a\": {\"b\": 1}, \"a.b\": 2}\n");
  EXPECT_THAT(values(nested), ElementsAre("a.b -1.-1=1", "a.b -1.-1=2"));
  EXPECT_THAT(nested.remarks, ElementsAre(HasSubstr("row 1 has 'a.b' more than once")));
  const LoggedRun twice = json("{\"a\": 1}\n{\"a\": 1, \"a\": 3, \"b\": [{\"c\": 1, \"c\": 2}]}\n");
  EXPECT_THAT(values(twice),
              ElementsAre("a -1.-1=1", "a -1.-1=1", "a -1.-1=3", "b -1.-1=[{\"c\":1,\"c\":2}]"));
  EXPECT_THAT(twice.remarks, ElementsAre(HasSubstr("row 2 has 'a' more than once")));
}

// Numbers of tables.

TEST(Numbers, ThatNoRealIsEqualToAreSaid) {
  const LoggedRun mixed = csv("a\n9007199254740993\n0.5\n9007199254740992\n");
  EXPECT_THAT(values(mixed),
              ElementsAre("a -1.-1=9007199254740992", "a -1.-1=0.5", "a -1.-1=9007199254740992"));
  EXPECT_THAT(mixed.remarks,
              ElementsAre(HasSubstr("'a' has real numbers, too, as which 1 whole one is not exact: "
                                    "9007199254740993 is 9007199254740992")));
  EXPECT_THAT(csv("a\n9223372036854775807\n0.5\n").remarks, SizeIs(1));
  for (const char* number :
       {"12345678901234567890", "18446744073709551615", "123456789012345678901234567890"}) {
    EXPECT_THAT(json(fmt::format("{{\"a\": 1}}\n{{\"a\": {}}}\n", number)).remarks,
                ElementsAre(AllOf(HasSubstr("1 whole number is no number here"),
                                  HasSubstr(fmt::format("row 2: {}", number)))));
    EXPECT_THAT(csv(fmt::format("a\n1\n{}\n", number)).remarks, SizeIs(1));
  }
  // Exact ones, and those that are written as reals.
  for (const char* number : {"20000000000000000000", "9223372036854775807", "9007199254740993",
                             "0.1234567890123456789", "1e30", "-0.30000000000000004"}) {
    EXPECT_THAT(csv(fmt::format("a\n{}\n", number)).remarks, IsEmpty()) << number;
    EXPECT_THAT(json(fmt::format("{{\"a\": {}}}\n", number)).remarks, IsEmpty()) << number;
  }
}

TEST(Numbers, OfTheLastRowMayBeCut) {
  const LoggedRun cut = csv("epoch,loss\n0,0.5\n1,0.2");
  EXPECT_THAT(values(cut), ElementsAre("loss 0.-1=0.5", "loss 1.-1=0.2"));
  EXPECT_THAT(cut.remarks,
              ElementsAre(HasSubstr("line 3 has no line end: its last cell, '0.2', may be cut")));
  EXPECT_THAT(csv("epoch,loss\n0,0.5\n1,0.2\n").remarks, IsEmpty());
  EXPECT_THAT(json("{\"a\": 0.2}").remarks, IsEmpty());
}

TEST(Numbers, DoNotBecomeTextsForOneOddCell) {
  for (const char* odd :
       {"1e-400", "50%", "\"1,234.5\"", "0x1p3", "1_000", "1.2.3", "12:30", "diverged", "true"}) {
    const LoggedRun run = csv(fmt::format("epoch,loss\n0,0.5\n1,{}\n2,0.25\n", odd));
    EXPECT_THAT(values(run), ElementsAre("loss 0.-1=0.5", "loss 2.-1=0.25")) << odd;
    EXPECT_THAT(run.remarks, ElementsAre(AllOf(HasSubstr("'loss' is a metric of numbers: 1 cell "
                                                         "that is none is left out"),
                                               HasSubstr("in row 2"))))
        << odd;
  }
  const LoggedRun tiny = json("{\"a\": 1}\n{\"a\": 1e-400}\n{\"a\": 1e400}\n{\"a\": 2}\n{\"a\":3}");
  EXPECT_THAT(values(tiny), ElementsAre("a -1.-1=1", "a -1.-1=2", "a -1.-1=3"));
  EXPECT_THAT(tiny.remarks, ElementsAre(HasSubstr("2 cells that are none are left out, the first "
                                                  "is '1e-400' in row 2")));
  const LoggedRun labels = csv("commit\nabc\n123\ndef\n");
  EXPECT_THAT(values(labels), SizeIs(3));
  EXPECT_THAT(labels.remarks, ElementsAre(HasSubstr("'commit' has 1 number and 2 cells that are "
                                                    "none, the first is 'abc' in row 1")));
  EXPECT_THAT(csv("a\n50%\n60%\n").remarks, ElementsAre(HasSubstr("such as '50%' in row 1")));
  EXPECT_THAT(csv("a;b\n0,5;1\n0,6;2\n").remarks, ElementsAre(HasSubstr("such as '0,5' in row 1")));
  EXPECT_THAT(csv("phase,done,day\ntrain,true,2024-05-01\nval,false,2024-05-02\n").remarks,
              IsEmpty());
}

TEST(Numbers, OfJsonMayBeWrittenAsTexts) {
  const LoggedRun run = json(
      "{\"a\": 1, \"s\": \"x\"}\n{\"a\": \"NaN\", \"s\": \"NaN\"}\n"
      "{\"a\": \"-Infinity\", \"s\": \"y\"}\n");
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=1", "a -1.-1=nan", "a -1.-1=-inf", "s -1.-1=x",
                                       "s -1.-1=NaN", "s -1.-1=y"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("'a' is a metric of numbers: 2 texts NaN or "
                                                 "Infinity are one, too")));
  const LoggedRun alone = json("{\"a\": \"NaN\", \"b\": NaN, \"c\": [Infinity, 1e-400]}\n");
  EXPECT_THAT(values(alone),
              ElementsAre("a -1.-1=NaN", "b -1.-1=nan", "c -1.-1=[\"Infinity\",\"1e-400\"]"));
  EXPECT_THAT(alone.remarks, ElementsAre(HasSubstr("'a' has the texts NaN and Infinity alone")));
}

TEST(Texts, OfJsonHaveAnyCharacter) {
  using namespace std::string_literals;
  const LoggedRun run = json(
      "{\"s\": \"\\u0001\", \"n\": 1}\n{\"s\": \"\\u0001NaN\", \"n\": NaN}\n"
      "{\"s\": \"a\\u0000b\", \"n\": -Infinity}\n{\"s\": \"\\u001f\\ud83d\\ude00\", \"n\": 4}\n"
      "{\"s\": [\"\\u0001\", NaN], \"n\": 5}\n");
  EXPECT_THAT(values(run),
              ::testing::UnorderedElementsAre(
                  "s -1.-1=\x01", "s -1.-1=\x01NaN", "s -1.-1=a\0b"s, "s -1.-1=\x1f\U0001F600",
                  "s -1.-1=[\"\\u0001\",\"NaN\"]", "n -1.-1=1", "n -1.-1=nan", "n -1.-1=-inf",
                  "n -1.-1=4", "n -1.-1=5"));
  const LoggedRun halves = json(
      "{\"s\": \"x\"}\n{\"s\": \"a\\ud83d\"}\n{\"s\": \"\\ude00b\\ud83d\\u0041\"}\n"
      "{\"s\": \"\\\\ud83d\"}\n");
  EXPECT_THAT(values(halves), ElementsAre("s -1.-1=x", "s -1.-1=a\uFFFD", "s -1.-1=\uFFFDb\uFFFDA",
                                          "s -1.-1=\\ud83d"));
  EXPECT_THAT(halves.remarks, ElementsAre(HasSubstr("2 lines have halves of characters (\\ud800 to "
                                                    "\\udfff alone), the first is line 2")));
  EXPECT_THAT(json("{\"a\": 1}\n{\"a\": \"\\u00g1\"}\n").remarks,
              ElementsAre(HasSubstr("1 line left out that is no JSON object")));
}

TEST(Places, ThatAreNoneAreSaid) {
  for (const char* step : {"-1", "99999999999999999999", "1099511627777", "x", "1e30"}) {
    const LoggedRun run = csv(fmt::format("step,loss\n1,0.5\n{},0.25\n3,0.1\n", step));
    ASSERT_FALSE(run.remarks.empty()) << step;
    EXPECT_THAT(run.remarks[0],
                AllOf(HasSubstr("in row 2: a step is a whole number up to 1099511627776"),
                      HasSubstr("so the column is a metric")))
        << step;
    EXPECT_THAT(values(run), ::testing::Contains("loss -1.-1=0.5")) << step;
  }
  EXPECT_THAT(csv("epoch,step,loss\n0.5,10,3\n1.0,20,2\n").remarks, IsEmpty());
}

// Rows.

TEST(Rows, OfSeveralRunsInOneFileHaveSeveralHeaders) {
  const LoggedRun run = csv("epoch, loss\n0,3\n1,2\nepoch,loss\n1,2.5\n\n2,1\nepoch,loss\n");
  EXPECT_THAT(values(run),
              ElementsAre("loss 0.-1=3", "loss 1.-1=2", "loss 1.-1=2.5", "loss 2.-1=1"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("the header is repeated in 2 lines, the last in "
                                                 "8: the rows of all parts are one run")));
}

TEST(Rows, ThatAQuoteTooMuchJoinsAreSaid) {
  const LoggedRun run = csv("a,note,b\n1,\"x\ny\",2\n3,\"12 inch,4\n5,\"disk\",6\n");
  EXPECT_THAT(run.remarks,
              ElementsAre(HasSubstr("the row in line 4 has several lines, and a quote that ends in "
                                    "the middle of a cell")));
  EXPECT_THAT(csv("a,note\n1,\"x\ny\"\n").remarks, IsEmpty());
}

TEST(Epochs, AreNotTakenFromTheEscapesOfATerminal) {
  const LogQuestion question{.metrics = {R"(loss=(\d+\.\d+))"}};
  const LoggedRun run = read(
      "\x1b[1mEpoch \x1b[1m3\x1b[0m/10\n\x1b[31mloss=\x1b[1;32m0.5\x1b[0m\n"
      "Epoch \x1b[32m4\x1b[0m\n\x1b]8;;http://a/epoch 9\x1b\\loss=0.25\x1b]8;;\a\x1b(B\x1b[K\n",
      LogFormat::text, question);
  EXPECT_THAT(values(run), ElementsAre("loss 3.-1=0.5", "loss 4.-1=0.25"));
  EXPECT_THAT(read("epoch 1\x1b[\nepoch 2\x1b\nepoch 3\x1b]\nloss=0.5\n", LogFormat::text, question)
                  .remarks,
              ElementsAre(HasSubstr("counts epochs from 1")));
}

TEST(Epochs, AreNotHalvesOfNumbers) {
  const LogQuestion question{.metrics = {R"(loss=(\d+\.\d+))"}};
  const LoggedRun run = read("Epoch 7, loss=0.5\nEpoch 1,234: loss=0.25\nepoch 8,0.1 loss=0.75\n",
                             LogFormat::text, question);
  EXPECT_THAT(values(run), ElementsAre("loss 7.-1=0.5", "loss 7.-1=0.25", "loss 8.-1=0.75"));
  EXPECT_THAT(run.remarks, Contains(HasSubstr("'1' of '1,234', in 1 place: taken for no epoch")));
  EXPECT_THAT(values(read("Epoch=-1 loss=0.5\n", LogFormat::text, question)),
              ElementsAre("loss -1.-1=0.5"));
  const LoggedRun given = read("epoch 12 loss=0.5\n", LogFormat::text,
                               {.epoch = R"(epoch (\d))", .metrics = {R"(loss=(\S+))"}});
  EXPECT_THAT(given.remarks,
              Contains(HasSubstr("--epoch takes a part of a number: '1' of '12', in 1 place")));
}

TEST(Numbers, OfWhichAPatternTakesAPartAreSaid) {
  const auto doubts = [](const std::string& line, const char* regex) {
    return read(line + "\n", LogFormat::text, {.metrics = {regex}}).remarks;
  };
  const auto part = [](const char* taken, const char* whole) {
    return ElementsAre(
        HasSubstr(fmt::format("takes a part of a number: '{}' of '{}', in 1 place", taken, whole)));
  };
  EXPECT_THAT(doubts("loss=1.5e-05", R"(loss=(\d+\.\d+))"), part("1.5", "1.5e-05"));
  EXPECT_THAT(doubts("loss=1.5e5", R"(loss=(\d+\.\d+))"), part("1.5", "1.5e5"));
  EXPECT_THAT(doubts("loss=12", R"(loss=(\d))"), part("1", "12"));
  EXPECT_THAT(doubts("loss=0.25", R"(loss=(\d+))"), part("0", "0.25"));
  EXPECT_THAT(doubts("loss=1,234", R"(loss=(\d+))"), part("1", "1,234"));
  EXPECT_THAT(doubts("loss=-0.5", R"(loss=-?(\d+\.\d+))"), part("0.5", "-0.5"));
  EXPECT_THAT(doubts("loss=.5", R"(loss=\.(\d+))"), part("5", ".5"));
  EXPECT_THAT(doubts("loss=123", R"(loss=1?(\d+))"), part("23", "123"));
  EXPECT_THAT(doubts("loss=1e-05", R"(loss=1e-(\d+))"), part("05", "1e-05"));
  for (const char* line : {"loss=0.5", "loss=0.5, 7", "loss=3/10", "loss=3-4", "loss=5s", "loss=2e",
                           "loss=4.", "loss=6,7", "loss=a-3", "loss=v.3", "loss=8 -1"}) {
    EXPECT_THAT(doubts(line, R"(loss=(?:[a-z]?[-.])?(\d+(?:\.\d+)?))"), IsEmpty()) << line;
  }
}

TEST(Numbers, AtTheEndOfAFileOrOfAPieceMayBeCut) {
  const LogQuestion question{.metrics = {R"(loss=(\d+\.\d+))"}};
  EXPECT_THAT(read("loss=0.5\nloss=0.2", LogFormat::text, question).remarks,
              ElementsAre(HasSubstr("its last number may be cut")));
  EXPECT_THAT(read("loss=0.5\nend", LogFormat::text, question).remarks, IsEmpty());
  EXPECT_THAT(read("loss=0.5\r", LogFormat::text, question).remarks, IsEmpty());
  std::string bar;
  while (bar.size() <= kLineMax + 100) bar += "loss=0.12345678\r";
  EXPECT_THAT(read(bar, LogFormat::text, question).remarks, IsEmpty());
  EXPECT_THAT(read(std::string(kLineMax + 100, 'x') + "\n", LogFormat::text, question).remarks,
              ElementsAre(HasSubstr("a number there may be missing")));
  // Wherever a piece ends, no number is halved.
  for (std::size_t before = 1; before < 40; ++before) {
    std::string line(kLineMax - before, 'x');
    for (int i = 0; i < 4; ++i) line += "\rloss=0.12345678";
    const LoggedRun run = read(line + "\n", LogFormat::text, question);
    EXPECT_THAT(values(run), ::testing::Each(::testing::EndsWith("=0.12345678"))) << before;
    EXPECT_EQ(run.values(), 4u) << before;
    EXPECT_THAT(run.remarks, IsEmpty()) << before;
  }
}

TEST(Rows, OfOtherUnitsThanBytesAreRefused) {
  const auto wide = [](std::string_view text, bool is_little) {
    std::string bytes = is_little ? "\xFF\xFE" : "\xFE\xFF";
    for (const char c : text) bytes += is_little ? std::string{c, '\0'} : std::string{'\0', c};
    return bytes;
  };
  for (const LogFormat format : {LogFormat::csv, LogFormat::jsonl, LogFormat::text}) {
    for (const bool is_little : {true, false}) {
      const std::string text = format == LogFormat::csv ? "epoch,loss\n0,1\n" : "{\"a\": 1}\n";
      EXPECT_THAT(refusal(wide(text, is_little), format), HasSubstr("convert it to UTF-8"));
      EXPECT_THAT(refusal(wide(text, is_little).substr(2), format), HasSubstr("convert it"));
    }
  }
}

TEST(Rows, ThatAreTooLongAreOneLine) {
  const std::string rest = "{\"a\": [" + std::string(kLineMax, ' ') + "]} {\"a\": 7}\n{\"a\": 1}\n";
  const LoggedRun run = json(rest);
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=1"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("1 line left out")));
}

}  // namespace
}  // namespace flor::cli::doubts_test
