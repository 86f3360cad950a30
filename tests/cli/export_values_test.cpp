// flor export --format: the values that runs logged, as files that other tools read.
#include "cli/fixture.h"
#include "export/crc32c.h"
#include "export/png_image.h"
#include "support/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace flor::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ExportValuesTest : public CliTest {
 protected:
  Outcome exported(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "export");
    return flor(std::move(arguments));
  }
  /// A run of one epoch with a value of every type, and a name that CSV must quote.
  store::Run everything() {
    const store::Run run = record({.epochs = 1, .steps = 2});
    std::vector<store::Value> values;
    const auto add = [&](std::string name, store::ValueType type, store::Scalar content) {
      values.push_back(value(std::move(name), 0, 0));
      values.back().type = type;
      values.back().value = std::move(content);
    };
    using store::ValueType;
    add("a \"b\", c", ValueType::text, "line 1\nline 2");
    add("flag", ValueType::boolean, std::int64_t{1});
    add("count", ValueType::integer, std::int64_t{-7});
    add("nan", ValueType::real, kNan);
    add("inf", ValueType::real, -std::numeric_limits<double>::infinity());
    add("weights", ValueType::histogram, R"({"edges":[-1.0,0.0,2.0],"counts":[3,1]})");
    add("confusion", ValueType::table, R"({"columns":["cat","dog"],"rows":[[1.0,2.0]]})");
    add("image", ValueType::image, image());
    add("tensor", ValueType::tensor, image());
    catalog().add_values(run.id, values);
    return run;
  }
  /// The reference of a picture of 2 rows of 3 pixels.
  std::string image() {
    const store::Item item{"image", store::ElementType::u8, {2, 3, 3}, 18};
    std::vector<std::byte> pixels;
    for (int i = 0; i < 18; ++i) pixels.push_back(static_cast<std::byte>(i * 14));
    store::CheckpointWriter writer(store(), catalog().resolve("linear").id);
    return writer.write_object(item, pixels);
  }
  /// The event file of the run, decoded without Flor.
  std::vector<Json> events(const store::Run& run, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments = {run.key, "--format", "tensorboard",
                                          "-o",    "logs",     "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Json report = exported(arguments).json();
    file_ = work_ / report["files"][0]["file"].get<std::string>();
    const ProcessResult read = Process({"python3", FLOR_READ_EVENTS, file_.string()}, {}).wait();
    EXPECT_EQ(read.status, 0) << read.err;
    std::vector<Json> result;
    std::istringstream lines(read.out);
    for (std::string line; std::getline(lines, line);) result.push_back(Json::parse(line));
    return result;
  }
  static Json find(const std::vector<Json>& events, const std::string& tag) {
    for (const Json& event : events) {
      if (event.value("tag", "") == tag) return event;
    }
    ADD_FAILURE() << "no event has the tag " << tag;
    return Json::object();
  }

  std::filesystem::path file_;
};

TEST_F(ExportValuesTest, WritesEveryValueAsARowOfCsv) {
  const store::Run run = everything();
  const std::string key = run.key;
  const std::string text = exported({"linear", "--format", "csv"}).out;
  EXPECT_THAT(
      text, ::testing::StartsWith(
                "run,experiment,metric,loop,epoch,step,train,ordinal,type,value,origin,verdict\n" +
                key + ",linear,loss,epoch/train,0,0,0,0,real,1,recorded,recorded\n" + key +
                ",linear,loss,epoch/train,0,1,1,0,real,1.1,recorded,recorded\n"));
  for (const char* row : {
           ",linear,\"a \"\"b\"\", c\",epoch,0,,,0,text,\"line 1\nline 2\",recorded,recorded\n",
           ",linear,flag,epoch,0,,,0,boolean,true,recorded,recorded\n",
           ",linear,count,epoch,0,,,0,integer,-7,recorded,recorded\n",
           ",linear,nan,epoch,0,,,0,real,nan,recorded,recorded\n",
           ",linear,inf,epoch,0,,,0,real,-inf,recorded,recorded\n",
           ",linear,note,,,,,0,text,all well,recorded,recorded\n",
       }) {
    EXPECT_THAT(text, HasSubstr(row));
  }
  // Python's reader finds 12 fields in each of the 13 rows.
  std::ofstream(work_ / "values.csv") << text;
  const ProcessResult counted =
      Process({"python3", "-c",
               "import csv, sys; print([len(r) for r in csv.reader(open(sys.argv[1], "
               "newline=''))])",
               (work_ / "values.csv").string()},
              {})
          .wait();
  EXPECT_EQ(counted.out, "[12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12]\n");
}

TEST_F(ExportValuesTest, ColumnsOfTheRunStandInEachRow) {
  const store::Run run = everything();
  const auto csv = exported({"linear", "--format", "csv", "-m", "flag", "-c", "lr,epochs"}).lines();
  EXPECT_THAT(csv[0], ::testing::StartsWith("run,experiment,lr,epochs,metric,loop"));
  EXPECT_THAT(csv[1], HasSubstr(",linear,0.001,1,flag,epoch,"));
  const auto lines =
      exported({"linear", "--format", "jsonl", "-m", "flag", "-c", "arg:epochs"}).lines();
  EXPECT_EQ(Json::parse(lines[0])["columns"], (Json{{"arg:epochs", 3}}));
  EXPECT_EQ(exported({"linear", "model.pt", "-c", "lr"}).status, 2);
  EXPECT_EQ(exported({"linear", "--format", "csv", "-c", "lt"}).status, 3);
}

TEST_F(ExportValuesTest, ChoosesTheFormatByTheFilesEndingAndWritesTheSameEachTime) {
  everything();
  for (const char* ending : {"csv", "json", "jsonl"}) {
    const std::string file = fmt::format("values.{}", ending);
    EXPECT_EQ(exported({"linear", file}).status, 0);
    const std::string first = content_of(work_ / file);
    EXPECT_EQ(exported({"linear", "-o", file}).status, 0);
    EXPECT_EQ(content_of(work_ / file), first);
    EXPECT_EQ(exported({"linear", "--format", ending}).out, first);
  }
  const Json report = exported({"linear", "values.csv", "--json"}).json();
  EXPECT_EQ(report["values"], 13);
  EXPECT_EQ(report["format"], "csv");
}

TEST_F(ExportValuesTest, WritesOneObjectALineOrOneInAll) {
  const store::Run run = everything();
  const auto lines = exported({"linear", "--format", "jsonl", "-m", "nan", "-m", "loss"}).lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(Json::parse(lines[2]),
            Json::parse(fmt::format(
                R"({{"run":"{}","experiment":"linear","metric":"nan","loop":"epoch","epoch":0,)"
                R"("step":null,"inner":null,"ordinal":0,"type":"real","value":"NaN",)"
                R"("origin":"recorded","verdict":"recorded","loops":{{}}}})",
                run.key)));
  const Json json = exported({"linear", "--format", "json", "-m", "confusion"}).json();
  EXPECT_EQ(json["runs"][0]["arguments"]["lr"], 0.001);
  EXPECT_EQ(json["values"][0]["value"]["rows"], Json::parse("[[1.0,2.0]]"));
}

TEST_F(ExportValuesTest, IncludesHindsightAndChoosesEpochsAndRuns) {
  replay(record({}), 3, 4);
  record({});
  EXPECT_THAT(exported({"linear~1", "--format", "csv", "-m", "gradient"}).out,
              HasSubstr(",linear,gradient,epoch/train,1,2,2,0,real,2.5,hindsight,unverified\n"));
  EXPECT_THAT(exported({"linear", "linear~1", "--format", "jsonl", "--epochs", "1"}).lines(),
              SizeIs(5 + 5 + 5));
}

TEST_F(ExportValuesTest, ARunOfAVeryLongNameHasAFileOfAShorterOne) {
  const std::string name(5000, 'n');
  record({.experiment = name});
  record({.experiment = name + "n"});
  const Outcome outcome = exported({name, name + "n", "--format", "tensorboard", "-o", "logs"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(work_ / "logs"),
                          std::filesystem::directory_iterator()),
            2);
}

TEST_F(ExportValuesTest, RefusesWhatItDoesNotUnderstand) {
  record({});
  EXPECT_EQ(exported({"linear"}).status, 2);
  EXPECT_EQ(exported({"linear", "values.xls"}).status, 2);
  EXPECT_EQ(exported({"linear", "--format", "xml"}).status, 2);
  EXPECT_EQ(exported({"linear", "--format", "tensorboard"}).status, 2);
  EXPECT_EQ(exported({"linear@1", "values.csv"}).status, 2);
  EXPECT_EQ(exported({"linear", "values.csv", "-m", "acuracy"}).status, 3);
  EXPECT_EQ(exported({"linear", "model.pt", "-m", "loss"}).status, 2);
  EXPECT_EQ(exported({"linear", "values.csv", "--loop", "train"}).status, 2);
  EXPECT_EQ(exported({"linear", "nowhere/values.csv"}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(work_ / "values.csv"));
}

TEST_F(ExportValuesTest, StopsWhereTheReaderOfAPipeLeft) {
  record({});
  EXPECT_EQ(flor_without_reader({"export", "linear", "--format", "csv"}), 0);
}

TEST_F(ExportValuesTest, WritesEventsWhoseFramesAndFieldsAnIndependentReaderFinds) {
  const store::Run run = everything();
  const auto all = events(run);
  ASSERT_THAT(all, ::testing::Not(IsEmpty()));
  EXPECT_EQ(all[0]["version"], "brain.Event:2");
  EXPECT_EQ(all[0]["wall_time"], 1.7e9);
  EXPECT_EQ(find(all, "loss")["scalar"], 1);
  EXPECT_EQ(find(all, "flag")["scalar"], 1);
  EXPECT_EQ(find(all, "count")["scalar"], -7);
  EXPECT_EQ(find(all, "nan")["scalar"], "nan");
  EXPECT_EQ(find(all, "inf")["scalar"], "-inf");
  const Json histogram = find(all, "weights")["histogram"];
  EXPECT_EQ(histogram["min"], -1);
  EXPECT_EQ(histogram["max"], 2);
  EXPECT_EQ(histogram["num"], 4);
  EXPECT_EQ(histogram["sum"], 3 * -0.5 + 1);
  EXPECT_EQ(histogram["sum_squares"], 3 * 0.25 + 1);
  EXPECT_EQ(histogram["bucket_limit"], Json({0.0, 2.0}));
  EXPECT_EQ(histogram["bucket"], Json({3.0, 1.0}));
  const Json image = find(all, "image")["image"];
  EXPECT_EQ(image["height"], 2);
  EXPECT_EQ(image["width"], 3);
  EXPECT_EQ(image["channels"], 3);
  EXPECT_EQ(image["png"]["bytes"], "000e1c2a38465462707e8c9aa8b6c4d2e0ee");
  EXPECT_EQ(find(all, "confusion")["text"][0], "| cat | dog |\n| --- | --- |\n| 1.0 | 2.0 |\n");
  EXPECT_EQ(find(all, "confusion")["plugin"], "text");
  EXPECT_THAT(find(all, "arguments")["text"][0].get<std::string>(), HasSubstr("| lr | 0.001 |"));
  const Outcome again = exported({"linear", "--format", "tensorboard", "-o", "logs"});
  EXPECT_THAT(again.err, HasSubstr("left out of run"));
}

TEST_F(ExportValuesTest, CountsStepsOverTheEpochsAndTimesFromTheRecordedDurations) {
  const auto all = events(record({.epochs = 3, .steps = 4}));
  std::vector<std::pair<int, double>> losses, accuracies;
  for (const Json& event : all) {
    const std::pair<int, double> place{event["step"], event["wall_time"].get<double>() - 1.7e9};
    if (event.value("tag", "") == "loss") losses.push_back(place);
    if (event.value("tag", "") == "accuracy") accuracies.push_back(place);
  }
  ASSERT_THAT(losses, SizeIs(12));
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(losses[static_cast<std::size_t>(i)].first, i);
    // Epochs of 0.75 s, in which the loop takes 0.5 s.
    EXPECT_NEAR(losses[static_cast<std::size_t>(i)].second, 0.75 * (i / 4) + 0.125 * (i % 4 + 1),
                1e-3);
  }
  ASSERT_THAT(accuracies, SizeIs(3));
  EXPECT_EQ(accuracies[2].first, 2);
  EXPECT_NEAR(accuracies[2].second, 2.25, 1e-3);
}

TEST_F(ExportValuesTest, NumbersTheValuesWherePlacesHaveSeveral) {
  const store::Run run = record({.epochs = 2});
  std::vector<store::Value> values;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int i = 0; i < 3; ++i) {
      values.push_back(value("twice", i, epoch));
      values.back().ordinal = i;
    }
  }
  catalog().add_values(run.id, values);
  std::vector<int> steps;
  for (const Json& event : events(run, {"-m", "twice"})) {
    if (event.value("tag", "") == "twice") steps.push_back(event["step"]);
  }
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(ExportValuesTest, GivesEachRunADirectoryAndTheSameFileEachTime) {
  const store::Run a = record({.experiment = "net/one two"});
  const store::Run b = record({.experiment = "net/one two"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(exported({a.key, b.key, "--format", "tensorboard", "-o", "logs"}).status, 0);
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(work_ / "logs")) {
    if (entry.is_regular_file()) {
      files.push_back(std::filesystem::relative(entry.path(), work_ / "logs").string());
    }
  }
  EXPECT_THAT(files, ::testing::UnorderedElementsAre(
                         fmt::format("net_one_two-{}/events.out.tfevents.1700000000.{}",
                                     a.key.substr(0, 8), a.key),
                         fmt::format("net_one_two-{}/events.out.tfevents.1700000000.{}",
                                     b.key.substr(0, 8), b.key)));
}

TEST_F(ExportValuesTest, IsReadByGooglesProtobuf) {
  events(everything());
  const ProcessResult read =
      Process({"/usr/bin/python3", FLOR_DECODE_EVENTS, file_.string()}, {}).wait();
  if (read.status == 77) {
    GTEST_SKIP() << "needs Python's protobuf (Debian: python3-protobuf)";
  }
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("file_version: \"brain.Event:2\""));
  EXPECT_THAT(read.out, HasSubstr("tag: \"count\" simple_value: -7.0"));
  EXPECT_THAT(read.out, HasSubstr("bucket_limit: 0.0 bucket_limit: 2.0 bucket: 3.0 bucket: 1.0"));
  EXPECT_THAT(read.out, HasSubstr("image { height: 2 width: 3 colorspace: 3 encoded: \"\\211PNG"));
  EXPECT_THAT(read.out, HasSubstr("plugin_name: \"text\""));
}

TEST(EventFiles, HaveTheChecksumOfRfc3720) {
  EXPECT_EQ(cli::crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(cli::crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(cli::crc32c(std::string(32, '\xff')), 0x62A8AB43u);
}

TEST(PngImages, RefuseSizesThatAreNotThoseOfTheirPixels) {
  const std::vector<std::byte> pixels(12);
  EXPECT_NO_THROW(cli::encoded_png(pixels, 2, 2, 3));
  EXPECT_THROW(cli::encoded_png(pixels, 2, 3, 3), std::exception);
  EXPECT_THROW(cli::encoded_png(pixels, 2, 3, 2), std::exception);
  EXPECT_THROW(cli::encoded_png({}, 0, 0, 1), std::exception);
}

}  // namespace
}  // namespace flor::testing
