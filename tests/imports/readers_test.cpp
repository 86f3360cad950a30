// Logs of other programs as values and places, whatever their bytes are.
#include "export/event_file.h"
#include "file/filesystem.h"
#include "imports/clock_text.h"
#include "imports/csv_reader.h"
#include "imports/event_bytes.h"
#include "imports/event_reader.h"
#include "imports/json_lines.h"
#include "imports/line_reader.h"
#include "imports/log_file.h"
#include "imports/table_reader.h"
#include "imports/text_reader.h"
#include "imports/written.h"
#include "support/content.h"
#include "support/temporary_directory.h"

#include <flor/store/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

namespace flor::cli::readers_test {
namespace {

using imports_test::csv;
using imports_test::read;
using imports_test::refusal;
using imports_test::values;
using imports_test::Written;

using flor::testing::event;
using flor::testing::frame;
using flor::testing::scalar;
using flor::testing::tensor_scalar;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LoggedRun events(const std::string& content) { return read(content, LogFormat::tensorboard); }

// Lines and rows.

TEST(LineReader, GivesLinesOfAnyLength) {
  const std::string long_line(kLineMax + 7, 'x');
  const Written file("a\r\n\n" + long_line + "\nend");
  const store::File open = file.open();
  LineReader reader(open);
  std::vector<std::string> lines;
  std::vector<std::int64_t> numbers;
  std::uint64_t bytes = 0;
  for (LogLine line; reader.next(line);) {
    EXPECT_EQ(line.offset, bytes);
    bytes += line.text.size();
    lines.push_back(fmt::format("{}{}", line.content().size(), line.is_cut ? " cut" : ""));
    numbers.push_back(line.number);
  }
  EXPECT_THAT(lines, ElementsAre("1", "0", fmt::format("{} cut", kLineMax), "7", "3"));
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 3, 4));
  EXPECT_EQ(bytes, reader.size());
}

std::vector<std::vector<std::string>> rows(const std::string& content) {
  const Written file(content);
  const store::File open = file.open();
  CsvReader reader(open);
  std::vector<std::vector<std::string>> result;
  for (CsvRow row; reader.next(row);) result.push_back(row.fields);
  return result;
}

TEST(CsvReader, TakesQuotesAnyLineEndAndAnySeparator) {
  EXPECT_THAT(rows("a,\"b \"\"c\"\"\",\"d,\ne\"\r\n1,,3\n\n \n,\n"),
              ElementsAre(ElementsAre("a", "b \"c\"", "d,\ne"), ElementsAre("1", "", "3"),
                          ElementsAre("", "")));
  EXPECT_THAT(rows("a;b,c;d\n1;2;3"),
              ElementsAre(ElementsAre("a", "b,c", "d"), ElementsAre("1", "2", "3")));
  EXPECT_THAT(rows("\xEF\xBB\xBF\"a\"\tb\n"), ElementsAre(ElementsAre("a", "b")));
  EXPECT_THAT(rows("a,5\" b,\"c\"d\n"), ElementsAre(ElementsAre("a", "5\" b", "cd")));
  EXPECT_THAT(rows(""), IsEmpty());
  EXPECT_THROW(rows("a,b\n1,\"2\n3,4\n"), UsageError);
  EXPECT_THROW(rows("a,b\n" + std::string(kLineMax + 1, '1')), UsageError);
}

RC_GTEST_PROP(CsvReader, GivesBackWhatIsWritten, ()) {
  const auto letters = rc::gen::elementOf(std::string("ab1 ,;\t\"\r\n\xC3\xA9"));
  const auto field = rc::gen::container<std::string>(letters);
  const auto width = *rc::gen::inRange<std::size_t>(2, 5);
  const auto table = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(width, field));
  std::string text = "h1";
  for (std::size_t i = 1; i < width; ++i) text += ",h" + std::to_string(i + 1);
  text += "\n";
  for (const auto& row : table) {
    for (std::size_t i = 0; i < width; ++i) {
      text += i > 0 ? ",\"" : "\"";
      for (const char c : row[i]) text += c == '"' ? "\"\"" : std::string(1, c);
      text += '"';
    }
    text += "\r\n";
  }
  auto found = rows(text);
  RC_ASSERT(found.size() == table.size() + 1);
  found.erase(found.begin());
  RC_ASSERT(found == table);
}

// Tables.

TEST(Tables, HaveThePlacesOfTheirColumns) {
  EXPECT_THAT(values(csv("epoch,loss,acc\n0,0.5,1\n1,0.25,2\n")),
              ElementsAre("loss 0.-1=0.5", "loss 1.-1=0.25", "acc 0.-1=1", "acc 1.-1=2"));
  EXPECT_THAT(values(csv("Step,loss\n10,3\n20,2.5\n")),
              ElementsAre("loss 0.10=3", "loss 0.20=2.5"));
  EXPECT_THAT(values(csv("loss\n3\n2\n")), ElementsAre("loss -1.-1=3", "loss -1.-1=2"));
  EXPECT_THAT(values(csv("i,loss\n4,3\n5,2\n", {.epoch = "i"})),
              ElementsAre("loss 4.-1=3", "loss 5.-1=2"));
}

TEST(Tables, CountEpochsFromZero) {
  const LoggedRun run = csv("epoch,loss\n1,3\n2,2\n");
  EXPECT_THAT(values(run), ElementsAre("loss 0.-1=3", "loss 1.-1=2"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("counts epochs from 1")));
}

TEST(Tables, CountStepsInTheirEpochs) {
  const LoggedRun over_all = csv("epoch,step,loss\n0,9,3\n0,19,2\n1,29,1\n1,39,0\n");
  EXPECT_THAT(values(over_all),
              ElementsAre("loss 0.9=3", "loss 0.19=2", "loss 1.9=1", "loss 1.19=0"));
  EXPECT_EQ(over_all.epochs().at(0).steps, 20);
  EXPECT_EQ(over_all.epochs().at(1).steps, 20);
  EXPECT_THAT(values(csv("epoch,step,loss\n0,9,3\n1,9,1\n")),
              ElementsAre("loss 0.9=3", "loss 1.9=1"));
  // One step an epoch, as of validation.
  EXPECT_THAT(values(csv("epoch,step,loss\n0,99,3\n1,199,1\n")),
              ElementsAre("loss 0.99=3", "loss 1.99=1"));
}

TEST(Tables, MissCells) {
  const LoggedRun run = csv("epoch,step,a,b\n0,4,1,\n0,4,,2\n0,,3,NA\n,,4,null\n");
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=4", "a 0.-1=3", "a 0.4=1", "b 0.4=2"));
}

TEST(Tables, WhoseStepsHaveNoEpochsHaveThoseOfOne) {
  const std::string text = "epoch,step,loss\n,1,3\n,2,2\n0,,1\n";
  EXPECT_THAT(values(csv(text)),
              ElementsAre("loss -1.-1=1", "loss 0.1=3", "loss 0.2=2", "epoch -1.-1=0"));
  EXPECT_THAT(refusal(text, LogFormat::csv, {.epoch = "epoch"}), HasSubstr("2 rows have a step"));
}

TEST(Tables, TakeAColumnForEpochsOnlyIfItIsOne) {
  // As Hugging Face's trainer logs it.
  EXPECT_THAT(values(csv("epoch,step,loss\n0.5,10,3\n1.0,20,2\n")),
              ElementsAre("epoch 0.10=0.5", "epoch 0.20=1", "loss 0.10=3", "loss 0.20=2"));
  EXPECT_THAT(values(csv("epoch,loss\n0.0,3\n1.0,2\n")), ElementsAre("loss 0.-1=3", "loss 1.-1=2"));
  EXPECT_THAT(values(csv("epoch,loss\n100000,3\n")),
              ElementsAre("epoch -1.-1=100000", "loss -1.-1=3"));
  EXPECT_THAT(refusal("e,loss\nfirst,3\n", LogFormat::csv, {.epoch = "e"}),
              HasSubstr("column 'e' has first in row 1: an epoch is a whole number up to 99999"));
  EXPECT_THAT(refusal("epoch,loss\n1,3\n", LogFormat::csv, {.epoch = "epoc"}),
              HasSubstr("it has no column 'epoc': did you mean 'epoch'?"));
}

TEST(Tables, KeepTextsAndTakeTimes) {
  const LoggedRun run =
      csv("time,phase,loss\n2024-05-01T12:00:00Z,train,nan\n2024-05-01T12:00:10.5Z,val,-inf\n");
  EXPECT_THAT(values(run), ElementsAre("phase -1.-1=train", "phase -1.-1=val", "loss -1.-1=nan",
                                       "loss -1.-1=-inf"));
  EXPECT_EQ(run.first_us, 1714564800'000'000);
  EXPECT_THAT(values(csv("flos\n20000000000000000000\n")), ElementsAre("flos -1.-1=2e+19"));
  // A duration is a metric.
  EXPECT_THAT(values(csv("time,a\n1.5,2\n")), ElementsAre("time -1.-1=1.5", "a -1.-1=2"));
  EXPECT_EQ(csv("timestamp,a\n1714564800,2\n").first_us, 1714564800'000'000);
  EXPECT_EQ(csv("timestamp,a\n1714564800123,2\n").first_us, 1714564800'123'000);
}

TEST(Tables, TakeNoNamesOfFlorsOwn) {
  const LoggedRun run = csv("flor:output,,a,a, b \n1,2,3,4,5\n");
  EXPECT_THAT(values(run),
              ElementsAre("column_2 -1.-1=2", "a -1.-1=3", "a.2 -1.-1=4", "b -1.-1=5"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("'flor:output' is left out")));
}

TEST(Tables, SayWhichRowsAreLeftOut) {
  const LoggedRun run = csv("a,b\n1,2\n1,2,3\n3");
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=1", "b -1.-1=2"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("2 rows left out that have other fields than the "
                                                 "header, the first in line 3")));
  // Its last line has all fields: it is taken.
  EXPECT_THAT(values(csv("a,b\n1,2")), SizeIs(2));
  EXPECT_THAT(refusal("1,2\n3,4\n", LogFormat::csv), HasSubstr("it has no header"));
  EXPECT_THAT(refusal("", LogFormat::csv), HasSubstr("it is empty"));
}

TEST(Tables, OfJsonLinesHaveObjectsInside) {
  const LoggedRun run = read(
      R"({"epoch": 0, "train": {"loss": 1.5, "ok": true}, "note": null, "shape": [1, 2]}
{"epoch": 1, "train": {"loss": NaN}, "big": 18446744073709551615, "best": -Infinity, "say": "a NaN"}
)",
      LogFormat::jsonl);
  EXPECT_THAT(values(run),
              ElementsAre("train.loss 0.-1=1.5", "train.loss 1.-1=nan", "train.ok 0.-1=1",
                          "shape 0.-1=[1,2]", "big 1.-1=1.8446744073709552e+19", "best 1.-1=-inf",
                          "say 1.-1=a NaN"));
}

TEST(Tables, OfJsonLinesLeaveOutWhatIsNone) {
  const LoggedRun run = read("{\"a\": 1}\nstarting\n{\"a\": 2}\n{\"a\": ", LogFormat::jsonl);
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=1", "a -1.-1=2"));
  EXPECT_THAT(
      run.remarks,
      ElementsAre(HasSubstr("2 lines left out that are no JSON object, the first is line 2")));
  EXPECT_THAT(refusal("hello\n", LogFormat::jsonl), HasSubstr("no line of it is a JSON object"));
  EXPECT_THAT(refusal(std::string(100'000, '[') + "\n", LogFormat::jsonl),
              HasSubstr("no line of it is a JSON object"));
  EXPECT_THAT(values(read(R"({"a": )" + std::string(90, '[') + std::string(90, ']') + "}",
                          LogFormat::jsonl)),
              SizeIs(1));
}

RC_GTEST_PROP(Tables, GiveBackEveryNumber, ()) {
  const auto numbers = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<double>>());
  std::string text = "epoch,x\n";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += fmt::format("{},{}\n", i, numbers[i]);
  const LoggedRun run = csv(text);
  RC_ASSERT(run.all_series().size() == 1);
  const LoggedSeries& series = run.all_series().front();
  RC_ASSERT(series.size() == numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const store::Scalar value = series.value(i);
    const double found = std::holds_alternative<double>(value)
                             ? std::get<double>(value)
                             : static_cast<double>(std::get<std::int64_t>(value));
    RC_ASSERT(found == numbers[i]);
  }
}

// Times.

TEST(ClockText, ReadsTheFormsOfLogs) {
  const std::int64_t noon = 1714564800'000'000;
  for (const char* text : {"2024-05-01T12:00:00Z", "2024-05-01 14:00:00+02:00",
                           "2024/05/01 07:00:00-0500", "2024-05-01T12:00:00.000Z rest"}) {
    const auto clock = clock_text(text);
    ASSERT_TRUE(clock) << text;
    EXPECT_EQ(clock->time_us, noon) << text;
  }
  EXPECT_EQ(clock_of_line("[2024-05-01T12:00:00,250Z] INFO"), noon + 250'000);
  for (const char* text : {"2024-05-01", "2024-13-01T12:00:00Z", "2024-02-30T12:00:00Z", "12:00:00",
                           "2024-05-01T25:00:00Z", "", "1", "2"}) {
    EXPECT_FALSE(clock_text(text)) << text;
    EXPECT_FALSE(clock_of_line(text)) << text;
  }
  // Without a zone it is a time of this machine.
  ASSERT_TRUE(clock_text("2024-05-01 12:00:00"));
}

// Event files.

TEST(EventReader, ReadsWhatTheProductWrites) {
  const Written file("");
  {
    const int descriptor = ::open(file.path().c_str(), O_WRONLY);
    Output out(descriptor);
    EventFile writer(out, 1'700'000'000'000'000);
    writer.scalar("loss", {.step = 3, .time_us = 1'700'000'001'500'000}, 0.5);
    writer.scalar("loss", {.step = 4, .time_us = 1'700'000'002'500'000}, std::nan(""));
    writer.text("note", {.step = 0, .time_us = 1'700'000'000'000'000}, "hello");
    writer.scalar("large", {.step = 4, .time_us = 1'700'000'002'500'000}, 1e300);
    out.flush();
    ::close(descriptor);
  }
  const LoggedRun run = read_log(file.source(LogFormat::tensorboard), {});
  EXPECT_THAT(values(run), ElementsAre("loss 0.3=0.5", "loss 0.4=nan", "large 0.4=inf"));
  EXPECT_EQ(run.first_us, 1'700'000'000'000'000);
  EXPECT_EQ(run.epochs().at(0).last_us, 1'700'000'002'500'000);
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("1 value that is no scalar")));
  EXPECT_FALSE(run.end);
}

RC_GTEST_PROP(EventReader, GivesBackEveryScalar, ()) {
  using Point = std::tuple<std::string, std::uint32_t, float, bool>;
  const auto points = *rc::gen::arbitrary<std::vector<Point>>();
  std::string bytes = scalar(1.7e9, 0, "first", 1);
  std::map<std::string, std::vector<std::pair<std::int64_t, float>>> wanted;
  for (const auto& [letters, step, number, is_tensor] : points) {
    const std::string tag = "x" + std::to_string(letters.size() % 3);
    bytes += is_tensor ? tensor_scalar(1.7e9, step, tag, number) : scalar(1.7e9, step, tag, number);
    wanted[tag].emplace_back(step, number);
  }
  const LoggedRun run = events(bytes);
  RC_ASSERT(run.all_series().size() == wanted.size() + 1);
  for (const LoggedSeries& series : run.all_series()) {
    if (series.name() == "first") continue;
    auto& those = wanted.at(series.name());
    std::ranges::stable_sort(those, {}, &std::pair<std::int64_t, float>::first);
    RC_ASSERT(series.size() == those.size());
    for (std::size_t at = 0; at < those.size(); ++at) {
      RC_ASSERT(series.place(at) == (LoggedPlace{0, those[at].first}));
      RC_ASSERT(std::get<double>(series.value(at)) == static_cast<double>(those[at].second));
    }
  }
}

TEST(EventReader, TakesArgumentsAndTheEndFromHparams) {
  const LoggedRun run =
      events(flor::testing::session_start(1.7e9) + scalar(1.7e9 + 5, 1, "loss", 2) +
             flor::testing::session_end(1.7e9 + 9, 2, 1.7e9 + 9));
  std::vector<std::string> arguments;
  for (const store::Argument& argument : run.arguments) {
    arguments.push_back(argument.name + ":" + argument.type + "=" + argument.value);
  }
  EXPECT_THAT(arguments, ElementsAre("lr:real=0.01", "optimizer:text=adam", "nesterov:bool=true"));
  ASSERT_TRUE(run.end);
  EXPECT_TRUE(run.end->failed);
  EXPECT_EQ(run.end->at_us, 1'700'000'009'000'000);
  EXPECT_FALSE(events(scalar(1.7e9, 1, "loss", 2) + flor::testing::session_end(1.7e9, 1, 0)).end);
}

TEST(EventReader, TakesAnEndThatIsCutOff) {
  const std::string whole = scalar(1.7e9, 1, "loss", 2) + scalar(1.7e9, 2, "loss", 1);
  const std::string next = scalar(1.7e9, 3, "loss", 0);
  for (std::size_t cut = 1; cut < next.size(); ++cut) {
    const LoggedRun run = events(whole + next.substr(0, cut));
    EXPECT_THAT(values(run), ElementsAre("loss 0.1=2", "loss 0.2=1")) << cut;
    EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("ends in the middle of an event"))) << cut;
  }
}

TEST(EventReader, StopsAtAWrongChecksumAndSaysWhere) {
  const std::string first = scalar(1.7e9, 1, "loss", 2), second = scalar(1.7e9, 2, "loss", 1);
  for (std::size_t at = 0; at < second.size(); ++at) {
    std::string bytes = first + second + scalar(1.7e9, 3, "loss", 0);
    bytes[first.size() + at] = static_cast<char>(bytes[first.size() + at] ^ 0x40);
    const LoggedRun run = events(bytes);
    EXPECT_THAT(values(run), ElementsAre("loss 0.1=2")) << at;
    EXPECT_THAT(run.remarks,
                ElementsAre(HasSubstr(fmt::format("is damaged at byte {}", first.size()))))
        << at;
  }
}

TEST(EventReader, TakesNoMemoryForALengthThatIsNotThere) {
  const std::string length = flor::testing::little_endian(std::uint64_t{1} << 60, 8);
  const std::string head =
      length + flor::testing::little_endian(masked_crc32c(length), 4) + "only this";
  const LoggedRun run = events(scalar(1.7e9, 1, "loss", 2) + head);
  EXPECT_THAT(values(run), SizeIs(1));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("its last 21 B are left out")));
}

TEST(EventReader, LeavesOutWhatIsMalformedOrNoScalar) {
  ProtoMessage picture, text, vector, shape, size;
  picture.bytes(1, "picture");
  picture.bytes(4, "png");
  size.varint(1, 2);
  shape.message(2, size);
  vector.varint(1, 1);
  vector.message(2, shape);
  vector.bytes(4, std::string(8, '\0'));
  text.bytes(1, "vector");
  text.message(8, vector);
  const LoggedRun run =
      events(event(1.7e9, 1, picture) + event(1.7e9, 1, text) + frame("\xFF\xFF") +
             scalar(1.7e9, -5, "a", 1) + scalar(std::nan(""), 7, "a", 2));
  EXPECT_THAT(values(run), ElementsAre("a -1.-1=1", "a 0.7=2"));
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr("2 values that are no scalars"),
                                       HasSubstr("1 event has a step that is none"),
                                       HasSubstr("1 malformed event is left out")));
}

TEST(EventReader, SaysWhichStepsAreNone) {
  const std::int64_t most = std::int64_t{1} << 40;
  const LoggedRun run = events(scalar(1.7e9, 1, "loss", 2) + scalar(1.7e9, -3, "loss", 3) +
                               scalar(1.7e9, most + 1, "loss", 4) + scalar(1.7e9, most, "rate", 5));
  EXPECT_EQ(run.values(), 4u);
  EXPECT_THAT(run.remarks, ElementsAre(HasSubstr(
                               "2 events have a step that is none, the first is -3: the values "
                               "are kept without a place")));
  EXPECT_THAT(events(scalar(1.7e9, most, "loss", 2)).remarks, ::testing::IsEmpty());
}

TEST(EventReader, RefusesOtherFiles) {
  EXPECT_THAT(refusal("hello, this is a text\n", LogFormat::tensorboard),
              HasSubstr("it is no event file of TensorBoard"));
}

// Texts.

std::vector<std::string> pieces(const LoggedRun& run) {
  std::vector<std::string> result;
  for (const store::Printed& piece : run.printed) {
    const bool is_gap = piece.stream == store::Printed::Stream::gap;
    result.push_back(fmt::format("{}{}:{}", is_gap ? "gap " : "", piece.place.epoch, piece.text));
  }
  return result;
}

TEST(Texts, HaveTheEpochsThatTheirLinesSay) {
  const LoggedRun run = read(
      "num_epochs: 3, max_epoch=7\nEpoch [1/2]\nloss=0.5\nEPOCH: 2\nloss=0.25\n{'epoch': 0.53}\n",
      LogFormat::text, {.metrics = {R"(loss=(\d+\.\d+))"}});
  EXPECT_THAT(pieces(run),
              ElementsAre("-1:num_epochs: 3, max_epoch=7\n", "0:Epoch [1/2]\nloss=0.5\n",
                          "1:EPOCH: 2\nloss=0.25\n{'epoch': 0.53}\n"));
  EXPECT_THAT(values(run), ElementsAre("loss 0.-1=0.5", "loss 1.-1=0.25"));
  EXPECT_EQ(run.lines, 6);
}

TEST(Texts, AreAskedWithRegularExpressions) {
  const LogQuestion question{.epoch = R"(^E(\d+))", .step = R"(S(\d+))", .metrics = {R"(l (\S+))"}};
  EXPECT_THAT(values(read("E0 S5 l 1\nS6 l +2\rS7 l 1.5\r\nE1 l nan\n", LogFormat::text, question)),
              ElementsAre("l 0.5=1", "l 0.6=2", "l 0.7=1.5", "l 1.-1=nan"));
  EXPECT_THAT(refusal("l x\n", LogFormat::text, {.metrics = {R"(l (\S+))"}}),
              HasSubstr("--extract 'l (\\S+)' finds 'x' in 'l x', which is no number"));
  EXPECT_THAT(refusal("l 1\n", LogFormat::text, {.metrics = {R"(l \S+)"}}),
              HasSubstr("has no brackets"));
  EXPECT_THAT(refusal("l 1\n", LogFormat::text, {.metrics = {R"((\S+))"}}),
              HasSubstr("has no word before its brackets"));
  EXPECT_THAT(refusal("E-1\n", LogFormat::text, {.epoch = R"(E(\S+))"}),
              HasSubstr("--epoch finds '-1' in 'E-1', which is no whole number up to 99999"));
  EXPECT_THAT(refusal("a", LogFormat::text, {.step = "a"}),
              HasSubstr("--step 'a' has no brackets"));
}

TEST(Texts, KeepAnyBytesAndTimes) {
  const LoggedRun run =
      read("\xFF\xC3 a\n2024-05-01T12:00:00Z b\n2024-05-01T12:00:09Z c\n", LogFormat::text);
  EXPECT_THAT(pieces(run), ElementsAre("-1:\xFF\xC3 a\n", "-1:2024-05-01T12:00:00Z b\n",
                                       "-1:2024-05-01T12:00:09Z c\n"));
  EXPECT_EQ(run.printed[0].time_us, 0);
  EXPECT_EQ(run.printed[2].time_us, 1714564809'000'000);
  EXPECT_EQ(run.first_us, 1714564800'000'000);
  EXPECT_THAT(refusal(std::string("ELF\0x", 5), LogFormat::text), HasSubstr("it is no text"));
}

TEST(Texts, AreKeptUpToALimitAndAskedAsAWhole) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("epoch {:02} loss={:02}\n", i, i);
  LogQuestion question{.metrics = {R"(loss=(\d+))"}};
  question.kept_bytes = 100;
  const LoggedRun run = read(text, LogFormat::text, question);
  EXPECT_THAT(values(run), SizeIs(100));
  EXPECT_THAT(pieces(run), ElementsAre("0:epoch 00 loss=00\n", "1:epoch 01 loss=01\n",
                                       "gap 2:" + std::to_string(96 * 17), "98:epoch 98 loss=98\n",
                                       "99:epoch 99 loss=99\n"));
}

RC_GTEST_PROP(Texts, KeepEveryByte, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("Epoch 123 loss=0.5\r\n\n\xFF")));
  std::string kept;
  for (const store::Printed& piece : read(text, LogFormat::text).printed) kept += piece.text;
  RC_ASSERT(kept == text);
}

// Files.

TEST(LogFiles, AreToldApartByTheirEndingsAndBytes) {
  flor::testing::TemporaryDirectory directory;
  const auto format_of = [&](const std::string& name, const std::string& content) {
    std::ofstream(directory / name, std::ios::binary) << content;
    const std::vector<std::string> operands{(directory / name).string()};
    return std::string(to_string(find_logs(operands, std::nullopt).front().format));
  };
  EXPECT_EQ(format_of("a.csv", ""), "csv");
  EXPECT_EQ(format_of("a.jsonl", ""), "jsonl");
  EXPECT_EQ(format_of("a.safetensors", ""), "safetensors");
  EXPECT_EQ(format_of("slurm-1.out", "x"), "text");
  EXPECT_EQ(format_of("events.out.tfevents.1.host", "x"), "tensorboard");
  EXPECT_EQ(format_of("other", scalar(1, 1, "a", 1)), "tensorboard");
  EXPECT_EQ(parse_log_format("csv"), LogFormat::csv);
  EXPECT_THROW(parse_log_format("csw"), UsageError);
}

TEST(LogFiles, OfOneDirectoryAreOneRun) {
  flor::testing::TemporaryDirectory directory;
  for (const char* path : {"a", "a/b"}) std::filesystem::create_directories(directory / path);
  for (const char* path : {"a/x.tfevents.2", "a/x.tfevents.1", "a/b/x.tfevents.1", "a/other"}) {
    std::ofstream(directory / path) << "x";
  }
  const std::vector<std::string> operands{directory.path().string()};
  std::vector<std::string> found;
  for (const LogSource& source : find_logs(operands, std::nullopt)) {
    std::string text = source.path.lexically_relative(directory.path()).string() + ":";
    for (const auto& file : source.files) text += " " + file.filename().string();
    found.push_back(text);
  }
  EXPECT_THAT(found, ElementsAre("a/b/x.tfevents.1: x.tfevents.1", "a: x.tfevents.1 x.tfevents.2"));
  const std::vector<std::string> empty{(directory / "a/b").string() + "/no"};
  EXPECT_THROW(find_logs(empty, std::nullopt), NotFound);
}

}  // namespace
}  // namespace flor::cli::readers_test
