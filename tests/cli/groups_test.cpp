// Values of several runs put together: flor query and flor plot with --group-by and --over.
#include "cli/fixture.h"
#include "curves/spread.h"
#include "support/process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

namespace flor::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

cli::Spread spread_of(const std::vector<double>& numbers) {
  cli::Spread spread;
  for (const double number : numbers) spread.add(number);
  return spread;
}

TEST(Spread, OfNothingHasNoMean) {
  const cli::Spread spread;
  EXPECT_EQ(spread.count(), 0);
  EXPECT_FALSE(spread.mean() || spread.deviation() || spread.least() || spread.greatest());
}

TEST(Spread, OfOneNumberHasNoDeviation) {
  const cli::Spread spread = spread_of({-2.5});
  EXPECT_EQ(spread.mean(), -2.5);
  EXPECT_FALSE(spread.deviation());
}

TEST(Spread, CountsWhatIsNotFiniteAndLeavesItOut) {
  const cli::Spread spread = spread_of({1, kNan, 3, kInfinity, -kInfinity});
  EXPECT_EQ(spread.count(), 2);
  EXPECT_EQ(spread.not_finite(), 3);
  EXPECT_EQ(spread.mean(), 2);
  EXPECT_THAT(*spread.deviation(), DoubleEq(std::sqrt(2.0)));
  EXPECT_FALSE(spread_of({kNan}).mean());
}

TEST(Spread, OfEqualNumbersIsExact) {
  for (const double value : {0.1, 1e300, -1e-300, 1.7e308}) {
    const cli::Spread spread = spread_of({value, value, value, value, value, value, value});
    EXPECT_EQ(spread.mean(), value);
    EXPECT_EQ(spread.deviation(), 0);
  }
}

/// What Python's statistics module, which computes with fractions, has for the same numbers.
TEST(Spread, AgreesWithPythonsStatistics) {
  std::mt19937_64 random(7);
  std::vector<std::vector<double>> samples{{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16},
                                           {1e15 + 0.25, 1e15 + 0.5, 1e15},
                                           {1e-300, 3e-300},
                                           {1, 1e100, 1, -1e100},
                                           {0.1, 0.2, 0.3},
                                           {-5, 5}};
  for (const double scale : {1.0, 1e6, 1e12}) {
    for (const double shift : {0.0, 1e3, 1e9}) {
      std::vector<double> numbers;
      for (int i = 0; i < 50; ++i) {
        numbers.push_back(shift + scale * std::uniform_real_distribution(-1.0, 1.0)(random));
      }
      samples.push_back(numbers);
    }
  }
  std::string program = "import statistics\n";
  for (const auto& numbers : samples) {
    program += "n = [";
    for (const double number : numbers) program += fmt::format("float.fromhex('{:a}'), ", number);
    program += "]\nprint(repr(statistics.mean(n)), repr(statistics.stdev(n)))\n";
  }
  TemporaryDirectory directory;
  std::ofstream(directory / "sample.py") << program;
  const ProcessResult python = run_process({"python3", (directory / "sample.py").string()});
  ASSERT_EQ(python.status, 0) << python.err;
  std::istringstream lines(python.out);
  for (const auto& numbers : samples) {
    double mean = 0, deviation = 0;
    ASSERT_TRUE(lines >> mean >> deviation);
    const cli::Spread spread = spread_of(numbers);
    const double greatest = std::max(std::abs(*spread.least()), std::abs(*spread.greatest()));
    EXPECT_NEAR(*spread.mean(), mean, 2e-16 * greatest);
    EXPECT_NEAR(*spread.deviation(), deviation, 1e-14 * deviation);
  }
}

class GroupsTest : public CliTest {
 protected:
  /// Logs the numbers as `score`, one an epoch.
  store::Run log(const std::vector<store::Argument>& arguments, const std::vector<double>& numbers,
                 const std::string& experiment = "linear") {
    plan_.experiment = experiment;
    plan_.arguments = arguments;
    plan_.started_us += 1'000'000;
    plan_.epochs = static_cast<int>(numbers.size());
    plan_.steps = 2;
    const store::Run run = record(plan_);
    std::vector<store::Value> values;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values.push_back(value("score", numbers[i], static_cast<std::int64_t>(i)));
    }
    catalog().add_values(run.id, values);
    return run;
  }
  static std::vector<store::Argument> with(const std::string& lr, const std::string& seed) {
    return {{"lr", "real", lr}, {"seed", "int", seed}, {"width", "int", "8"}};
  }
  void log_four() {
    log(with("0.1", "1"), {1, 2});
    log(with("0.1", "2"), {3, 6, 5});
    log(with("0.01", "1"), {7, 8});
    log(with("0.01", "2"), {7, 9});
  }
  Outcome query(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "query");
    return flor(arguments);
  }

  RunPlan plan_;
};

TEST_F(GroupsTest, RunsThatDifferInASeedAreOne) {
  log_four();
  const Outcome outcome = query({"score", "--over", "seed"});
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.lines(), ElementsAre("  lr  epoch  runs  n  mean  deviation  min  max",
                                           "0.01      0     2  2     7          0    7    7",
                                           "0.01      1     2  2   8.5   0.707107    8    9",
                                           " 0.1      0     2  2     2    1.41421    1    3",
                                           " 0.1      1     2  2     4    2.82843    2    6",
                                           " 0.1      2     2  1     5          -    5    5"));
}

TEST_F(GroupsTest, OfOneArgumentWhateverElseDiffers) {
  log_four();
  EXPECT_THAT(query({"score", "--group-by", "seed", "--epochs", "1"}).lines(),
              ElementsAre("seed  epoch  runs  n  mean  deviation  min  max",
                          "   1      1     2  2     5    4.24264    2    8",
                          "   2      1     2  2   7.5    2.12132    6    9"));
  EXPECT_THAT(query({"score", "--group-by", "width", "--epochs", "0"}).lines()[1],
              StartsWith("    8      0     4  4   4.5"));
  EXPECT_THAT(query({"score", "--group-by", "lr,arg:seed"}).lines(), SizeIs(10));
}

TEST_F(GroupsTest, ByExperimentTagAndVersion) {
  const store::Run first = log(with("0.1", "1"), {1});
  plan_.commit = std::string(40, 'b');
  const store::Run second = log(with("0.1", "1"), {3}, "charlm");
  flor({"tag", first.key, "good"});
  flor({"tag", first.key, "seen"});
  flor({"tag", second.key, "good"});
  const std::vector<std::string> both{"--run", first.key, "--run", second.key};
  const auto rows = [&](const std::string& key) {
    std::vector<std::string> words{"score", "--group-by", key};
    words.insert(words.end(), both.begin(), both.end());
    return query(words).lines();
  };
  EXPECT_THAT(rows("experiment"),
              ElementsAre(StartsWith("experiment"), StartsWith("charlm          0     1  1     3"),
                          StartsWith("linear          0     1  1     1")));
  EXPECT_THAT(rows("tag"), ElementsAre(StartsWith("tag"), StartsWith("good      0     2  2     2"),
                                       StartsWith("seen      0     1  1     1")));
  EXPECT_THAT(rows("commit"),
              ElementsAre(StartsWith("commit"), StartsWith("bbbbbbbb      0     1  1     3"),
                          StartsWith("-             0     1  1     1")));
}

TEST_F(GroupsTest, OtherVersionsAndExperimentsAreNotOneOverASeed) {
  log(with("0.1", "1"), {1});
  plan_.commit = std::string(40, 'b');
  log(with("0.1", "2"), {3});
  log(with("0.1", "3"), {5});
  EXPECT_THAT(query({"score", "--over", "seed"}).lines(),
              ElementsAre(StartsWith("commit"), StartsWith("bbbbbbbb      0     2  2     4"),
                          StartsWith("-             0     1  1     1")));
  EXPECT_THAT(query({"score", "--over", "seed,commit"}).lines(),
              ElementsAre(StartsWith("epoch  runs"), StartsWith("    0     3  3     3")));
}

TEST_F(GroupsTest, SaysWhatElseDiffersWhereNoTwoRunsAreOne) {
  log({{"seed", "int", "1"}, {"out", "text", "a"}}, {1});
  log({{"seed", "int", "2"}, {"out", "text", "b"}}, {3});
  EXPECT_EQ(query({"score", "--over", "seed"}).err,
            "flor: no two runs differ in nothing but seed: --over seed,out takes all together\n");
  EXPECT_THAT(query({"score", "--over", "seed,out"}).err, IsEmpty());
}

TEST_F(GroupsTest, NaNIsCountedApart) {
  log(with("0.1", "1"), {1, kNan});
  log(with("0.1", "2"), {3, 4});
  log(with("0.1", "3"), {5, kInfinity});
  EXPECT_THAT(query({"score", "--over", "seed"}).lines(),
              ElementsAre("epoch  runs  n  not finite  mean  deviation  min  max",
                          "    0     3  3           0     3          2    1    5",
                          "    1     3  1           2     4          -    4    4"));
}

TEST_F(GroupsTest, StepsHaveRowsOfTheirOwn) {
  log(with("0.1", "1"), {1});
  log(with("0.1", "2"), {3});
  const auto lines = query({"loss", "score", "--over", "seed"}).lines();
  EXPECT_THAT(lines,
              ElementsAre("metric  loop         epoch  step  runs  n  mean  deviation  min  max",
                          "score   epoch            0           2  2     2    1.41421    1    3",
                          "loss    epoch/train      0     0     2  2     1          0    1    1",
                          "loss    epoch/train      0     1     2  2   1.1          0  1.1  1.1"));
}

TEST_F(GroupsTest, WhatReplaysFoundCountsAndDoubtfulValuesDoNot) {
  const store::Run first = log(with("0.1", "1"), {1}), second = log(with("0.1", "2"), {3});
  const auto find = [&](const store::Run& run, double number, store::Verdict verdict) {
    store::NewReplay start;
    start.run = run.id;
    start.started_us = run.start.started_us + 1;
    start.command = {"./train", "--replay_flor"};
    const std::int64_t replay = catalog().add_replay(start);
    std::vector<store::Value> values{value("norm", number, 0)};
    values.back().replay = replay;
    catalog().add_values(run.id, values);
    store::ReplayResult result;
    result.finished_us = start.started_us + 1;
    result.verdict = verdict;
    result.values_found = 1;
    catalog().finish_replay(replay, result);
    if (verdict == store::Verdict::doubtful) catalog().doubt_replay(replay, "it differs");
  };
  find(first, 5, store::Verdict::verified);
  find(second, 50, store::Verdict::doubtful);
  const Outcome outcome = query({"norm", "--over", "seed"});
  EXPECT_THAT(outcome.lines(), ElementsAre("epoch  runs  n  mean  deviation  min  max",
                                           "    0     2  1     5          -    5    5"));
  EXPECT_EQ(outcome.err,
            "flor: left out: 1 doubtful value, which flor query without groups shows\n");
}

TEST_F(GroupsTest, ARunThatIsNamedTwiceCountsOnce) {
  const store::Run run = log(with("0.1", "1"), {1, 2});
  const Json rows =
      query({"score", "--group-by", "lr", "--run", run.key, "--run", run.key + "@1", "--json"})
          .json()["rows"];
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[1]["n"], 1);
  EXPECT_EQ(rows[1]["runs"], 1);
}

TEST_F(GroupsTest, JsonAndCsvHaveEveryDigit) {
  const store::Run first = log(with("0.1", "1"), {0.1}), second = log(with("0.1", "2"), {0.2});
  log(with("0.2", "2"), {kNan});
  const Json json = query({"score", "--over", "seed", "--json"}).json();
  EXPECT_EQ(json["metrics"], Json::array({"score"}));
  EXPECT_EQ(json["groups"][0]["group"], (Json{{"lr", 0.1}}));
  EXPECT_EQ(json["groups"][0]["runs"], Json::array({second.key, first.key}));
  EXPECT_EQ(json["rows"][0].dump(),
            R"({"group":{"lr":0.1},"runs":2,"metric":"score","loop":"epoch","epoch":0,"step":null,)"
            R"("inner":null,"ordinal":0,"loops":{},"n":2,"not_finite":0,)"
            R"("mean":0.15000000000000002,"deviation":0.07071067811865475,"min":0.1,"max":0.2})");
  EXPECT_TRUE(json["rows"][1]["mean"].is_null());
  EXPECT_EQ(json["rows"][1]["not_finite"], 1);
  EXPECT_EQ(query({"score", "--over", "seed", "--jsonl"}).lines()[0], json["rows"][0].dump());
  EXPECT_THAT(
      query({"score", "--over", "seed", "--csv"}).lines(),
      ElementsAre(
          "lr,metric,loop,epoch,step,ordinal,runs,n,not_finite,mean,deviation,min,max",
          "0.1,score,epoch,0,,0,2,2,0,0.15000000000000002,0.07071067811865475,0.1,0.2",
          "0.2,score,epoch,0,,0,1,0,1,,,,"));
}

TEST_F(GroupsTest, RefusesWhatMakesNoGroups) {
  log_four();
  const Outcome unknown = query({"score", "--group-by", "sed"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_EQ(unknown.err, "flor: these runs have no argument 'sed': did you mean 'seed'?\n");
  EXPECT_EQ(query({"score", "--over", "sed"}).status, 3);
  EXPECT_EQ(query({"score", "--group-by", "lr", "--over", "seed"}).status, 2);
  EXPECT_EQ(query({"score", "--group-by", ","}).status, 2);
  EXPECT_EQ(query({"score", "--group-by", "lr", "--all"}).status, 2);
  EXPECT_EQ(query({"skore", "--group-by", "lr"}).status, 3);
  const Outcome text = query({"note", "--group-by", "lr"});
  EXPECT_EQ(text.status, 3);
  EXPECT_THAT(text.err, HasSubstr("which have no mean"));
  EXPECT_EQ(query({"score", "--group-by", "lr", "--experiment", "linaer"}).status, 3);
}

TEST_F(GroupsTest, APlotHasAMeanInABand) {
  log_four();
  const Outcome outcome = flor({"plot", "-m", "score", "--over", "seed", "--size", "60x16"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("score, mean and deviation"));
  EXPECT_THAT(outcome.out, HasSubstr("a lr=0.01 (2 runs)"));
  EXPECT_THAT(outcome.out, HasSubstr("b lr=0.1 (2 runs)"));
  EXPECT_THAT(outcome.out, HasSubstr("::"));
  EXPECT_THAT(outcome.err, HasSubstr("score of lr=0.1 (2 runs): 1 of 3 means are of fewer runs"));
}

TEST_F(GroupsTest, APictureFillsTheBand) {
  log_four();
  const std::string file = (directory_ / "plot.svg").string();
  ASSERT_EQ(flor({"plot", "linear", "-m", "score", "--group-by", "lr", "-o", file}).status, 0);
  std::ifstream stream(file);
  const std::string svg{std::istreambuf_iterator<char>(stream), {}};
  std::size_t bands = 0;
  for (std::size_t at = svg.find("<polygon"); at != svg.npos; at = svg.find("<polygon", at + 1)) {
    ++bands;
  }
  EXPECT_EQ(bands, 2u);
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.18\""));
  EXPECT_EQ(flor({"plot", "linear", "-m", "score", "--group-by", "lr", "-o", file, "--log"}).status,
            0);
}

TEST_F(GroupsTest, APlotsJsonHasTheMeans) {
  log_four();
  const Json series =
      flor({"plot", "linear", "-m", "score", "--group-by", "lr", "--json"}).json()["series"];
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[1]["group"], "lr=0.1 (2 runs)");
  EXPECT_EQ(series[1]["n"], Json::array({2, 2, 1}));
  EXPECT_EQ(series[1]["mean"], Json::array({2.0, 4.0, 5.0}));
  EXPECT_TRUE(series[1]["deviation"][2].is_null());
}

TEST_F(GroupsTest, APlotOverTimeHasNoMeans) {
  log_four();
  const Outcome outcome = flor({"plot", "-m", "score", "--over", "seed", "--by", "time"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--by epoch or --by step"));
}

}  // namespace
}  // namespace flor::testing
