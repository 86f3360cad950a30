// flor plot: in a terminal, without one, and as a picture.
#include "cli/fixture.h"
#include "index/values/own_series.h"
#include "support/process.h"
#include "support/terminal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kBraille = "\xe2\xa0";  // how most dots of braille begin

class PlotTest : public CliTest {
 protected:
  Outcome plot(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "plot");
    return flor(std::move(arguments));
  }
  Terminal terminal(std::vector<std::string> arguments, TerminalOptions options = {}) {
    std::vector<std::string> command = {FLOR_CLI, "--home", home().string(), "plot"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    options.directory = work_;
    return Terminal(std::move(command), options);
  }
  /// A run that has no end yet.
  store::Run live() {
    store::NewRun start;
    start.experiment = "live";
    start.started_us = 1;
    return catalog().add_run(start);
  }
  /// Logs these numbers as "odd", one an epoch.
  store::Run log(const std::vector<double>& numbers) {
    const store::Run run = record({.epochs = static_cast<int>(numbers.size())});
    std::vector<store::Value> values;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      values.push_back(value("odd", numbers[i], static_cast<std::int64_t>(i)));
    }
    catalog().add_values(run.id, values);
    return run;
  }
};

TEST_F(PlotTest, DrawsAPlainPictureWhereThereIsNoTerminal) {
  record({.epochs = 5});
  const Outcome outcome = plot({"linear", "-m", "accuracy", "--size", "44x12"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, R"(     accuracy  last 0.984375, least 0.75, g…
    |                       aaaaaaaaaaaaaa
    |                aaaaaaa
    |            aaaa
0.9 +        aaaa
    |      aa
    |    aa
0.8 +  aa
    |aa
    ++-----------------+-----------------+
     0                 2                 4
                     epoch
)");
}

TEST_F(PlotTest, NamesTheRunThatItChose) {
  const store::Run run = record({});
  EXPECT_EQ(plot({"-m", "loss"}).err, fmt::format("flor: run {} (linear)\n", run.key.substr(0, 8)));
}

TEST_F(PlotTest, TellsSeveralRunsApartByTheirArguments) {
  record({.arguments = {{"epochs", "int", "3"}, {"lr", "real", "0.001"}}});
  record({.arguments = {{"epochs", "int", "3"}, {"lr", "real", "0.01"}}, .loss = 3});
  const std::string out = plot({"linear~1", "linear", "-m", "loss"}).out;
  EXPECT_THAT(out, HasSubstr("lr=0.001  last "));
  EXPECT_THAT(out, HasSubstr("lr=0.01   last "));
  EXPECT_THAT(out, Not(HasSubstr("epochs=")));
  EXPECT_THAT(out, HasSubstr("\n  a "));
  EXPECT_THAT(out, HasSubstr("\n  b "));
}

class PlotOverTest : public PlotTest {
 protected:
  static store::Value at(const std::string& name, const std::string& path, std::int64_t epoch,
                         std::int64_t step, double number) {
    store::Value made = value(name, number, epoch);
    made.place = {path, epoch, step, ""};
    return made;
  }
  /// Two epochs of three steps; `samples` and `loss` in the steps, `time` in the epochs.
  store::Run steps() {
    const store::Run run = record({.epochs = 2});
    std::vector<store::Value> values;
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      values.push_back(at("time", "epoch", epoch, -1, 10.5 * static_cast<double>(epoch + 1)));
      for (std::int64_t step = 0; step < 3; ++step) {
        const auto number = static_cast<double>(3 * epoch + step);
        values.push_back(at("samples", "epoch/train", epoch, step, 600 - 100 * number));
        values.push_back(at("step_loss", "epoch/train", epoch, step, 1 / (1 + number)));
      }
    }
    values.push_back(at("step_loss", "epoch/train", 2, 0, 0.1));
    catalog().add_values(run.id, values);
    return run;
  }
};

TEST_F(PlotOverTest, ValuesOfAnotherMetricAtTheSamePlaceAreX) {
  steps();
  const Json json = plot({"linear", "-m", "step_loss", "-x", "samples", "--json"}).json();
  EXPECT_EQ(json["by"], "samples");
  ASSERT_EQ(json["series"].size(), 1U);
  EXPECT_EQ(json["series"][0]["x"], Json::parse("[100,200,300,400,500,600]"))
      << "in the order of x";
  EXPECT_EQ(json["series"][0]["y"][0], 1 / 6.0);
  EXPECT_EQ(json["series"][0]["y"][5], 1.0);
  const Outcome drawn = plot({"linear", "-m", "step_loss", "--by", "samples"});
  EXPECT_EQ(drawn.status, 0);
  EXPECT_THAT(drawn.out, HasSubstr(" samples\n"));
  EXPECT_THAT(drawn.err, HasSubstr("left out: 1 value at places without a number of samples"));
}

TEST_F(PlotOverTest, AValueOfAnOuterLoopCountsForWhatIsInIt) {
  steps();
  const Json json = plot({"linear", "-m", "step_loss", "-x", "time", "--json"}).json();
  EXPECT_EQ(json["by"], "time") << "the word for an axis";
  EXPECT_NE(json["series"][0]["x"][0], 10.5);
  std::vector<store::Value> values;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    values.push_back(at("seconds", "epoch", epoch, -1, 10.5 * static_cast<double>(epoch + 1)));
  }
  catalog().add_values(catalog().resolve("linear").id, values);
  const Json over = plot({"linear", "-m", "step_loss", "-x", "seconds", "--json"}).json();
  EXPECT_EQ(over["series"][0]["x"], Json::parse("[10.5,10.5,10.5,21,21,21]"));
}

TEST_F(PlotOverTest, WhatLoopsIterateOverIsAnAxis) {
  const store::Run run = steps();
  std::vector<store::Value> values;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    values.push_back(at(std::string(store::kIterationSeries), "epoch", epoch, -1,
                        0.25 * static_cast<double>(epoch)));
  }
  catalog().add_values(run.id, values);
  const Json over = plot({"linear", "-m", "step_loss", "-x", "epoch_value", "--json"}).json();
  EXPECT_EQ(over["series"][0]["x"], Json::parse("[0,0,0,0.25,0.25,0.25]"));
}

TEST_F(PlotOverTest, WhereNoPlaceHasBothItIsRefusedInOneLine) {
  steps();
  const auto refused = [&](std::vector<std::string> arguments, int status) {
    const Outcome outcome = plot(std::move(arguments));
    EXPECT_EQ(outcome.status, status) << outcome.out;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused({"linear", "-m", "time", "-x", "samples"}, 3),
              HasSubstr("no place has both time and samples"));
  EXPECT_THAT(refused({"linear", "-m", "step_loss", "-x", "sample"}, 2),
              HasSubstr("--by sample: use epoch, step or time, or a metric that was logged"));
  EXPECT_THAT(refused({"linear", "-m", "samples", "-x", "samples"}, 2),
              HasSubstr("this is what is drawn"));
  EXPECT_THAT(refused({"-m", "step_loss", "-x", "samples", "--over", "lr"}, 2),
              HasSubstr("means are over equal epochs or steps"));
}

TEST_F(PlotTest, DrawsAPanelForEachMetricUnlessTheyAreJoined) {
  record({});
  const std::string panels = plot({"linear", "-m", "loss", "-m", "accuracy"}).out;
  EXPECT_THAT(panels, HasSubstr(" loss  last "));
  EXPECT_THAT(panels, HasSubstr(" accuracy  last "));
  const std::string joined = plot({"linear", "-m", "loss,accuracy"}).out;
  EXPECT_THAT(joined, HasSubstr(" loss, accuracy\n"));
  EXPECT_THAT(joined, HasSubstr("\n  b accuracy  last "));
}

TEST_F(PlotTest, DrawsWhatIsThereUnlessMetricsAreNamed) {
  const store::Run run = record({});
  const Outcome outcome = plot({"linear"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("loss  last "), HasSubstr("accuracy  last ")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("note")));
  EXPECT_EQ(plot({}).out, outcome.out);
  const Json json = plot({"linear", "--json"}).json();
  EXPECT_EQ(json["series"].size(), 2u);
  std::vector<store::Value> more;
  for (const char* name : {"a", "b", "c"}) more.push_back(value(name, 1, 0));
  catalog().add_values(run.id, more);
  EXPECT_THAT(plot({"linear"}).err, HasSubstr("1 more metric: -m NAME draws it"));
}

TEST_F(PlotTest, SaysThatARunLoggedNoNumbers) {
  RunPlan plan;
  plan.epochs = 0;
  const store::Run run = record(plan);
  const Outcome outcome = plot({"linear"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr(fmt::format("no numbers were logged in the loops of run {} "
                                                 "(linear): see `flor show {}`",
                                                 run.key.substr(0, 8), run.key.substr(0, 8))));
}

TEST_F(PlotTest, RefusesAMetricThatNobodyLoggedAndNamesThoseThatThereAre) {
  record({});
  const Outcome typo = plot({"linear", "-m", "acuracy"});
  EXPECT_EQ(typo.status, 3);
  EXPECT_THAT(typo.err, HasSubstr("has no metric 'acuracy': did you mean 'accuracy'?"));
  EXPECT_THAT(plot({"linear", "-m", "zebra"}).err, HasSubstr("it has loss, accuracy, note"));
  EXPECT_EQ(plot({"linear", "-m", "loss,zebra"}).status, 3);
}

TEST_F(PlotTest, SaysWhyWhatIsNoCurveIsNotDrawn) {
  replay(record({}), 3, 4);
  EXPECT_THAT(plot({"linear", "-m", "confusion"}).err, HasSubstr("cannot be plotted as a curve"));
  EXPECT_EQ(plot({"linear", "-m", "confusion"}).status, 3);
  catalog().add_values(catalog().resolve("linear").id, std::vector{value("final", 1)});
  EXPECT_THAT(plot({"linear", "-m", "final"}).err, HasSubstr("outside of every loop"));
}

TEST_F(PlotTest, LeavesGapsForWhatIsNotFiniteAndSaysSo) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  log({1, 2, kNan, 3, kInfinity, -kInfinity, 4});
  const Outcome outcome = plot({"linear", "-m", "odd"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("1 of 7 values is NaN\n"));
  EXPECT_THAT(outcome.err, HasSubstr("2 of 7 values are infinite\n"));
  EXPECT_THAT(outcome.out, HasSubstr("last 4, least 1, greatest 4"));
  log({kNan, kNan});
  EXPECT_THAT(plot({"linear", "-m", "odd"}).out, HasSubstr("no values"));
}

TEST_F(PlotTest, SaysWhatALogarithmicAxisCannotShow) {
  log({100, 0, 1, -1, 0.01});
  const Outcome outcome = plot({"linear", "-m", "odd", "--log"});
  EXPECT_THAT(outcome.err, HasSubstr("2 of 5 values are not positive"));
  for (const char* label : {"\n 100 +", "\n  10 +", "\n   1 +", "\n 0.1 +", "\n0.01 +"}) {
    EXPECT_THAT("\n" + outcome.out, HasSubstr(label));
  }
}

TEST_F(PlotTest, DrawsASinglePointNegativeValuesAndConstants) {
  for (const std::vector<double>& numbers :
       {std::vector<double>{-3}, {-3, -1, -2}, {0, 0, 0}, {1e300, -1e300}, {1e-300, 2e-300}}) {
    log(numbers);
    const Outcome outcome = plot({"linear", "-m", "odd"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("a"));
    EXPECT_THAT(outcome.lines(), SizeIs(::testing::Le(24u)));
  }
}

TEST_F(PlotTest, IncludesWhatReplaysFound) {
  replay(record({}), 3, 4);
  const std::string out = plot({"linear", "-m", "gradient,loss"}).out;
  EXPECT_THAT(out, HasSubstr("a gradient (hindsight)"));
  EXPECT_THAT(out, HasSubstr("b loss "));
  EXPECT_THAT(plot({"linear", "-m", "gradient"}).out, HasSubstr("gradient (hindsight)  last "));
}

TEST_F(PlotTest, GivesThePointsAsJson) {
  record({.epochs = 2, .steps = 2});
  const Json json = plot({"linear", "-m", "loss", "--by", "step", "--json"}).json();
  EXPECT_EQ(json["by"], "step");
  ASSERT_THAT(json["series"], SizeIs(1));
  EXPECT_EQ(json["series"][0]["loop"], "epoch/train");
  EXPECT_EQ(json["series"][0]["x"], Json({0.0, 1.0, 2.0, 3.0}));
  EXPECT_EQ(json["series"][0]["y"], Json({1.0, 1.1, 0.5, 0.6}));
  EXPECT_EQ(plot({"linear", "-m", "loss", "--by", "week"}).status, 2);
  EXPECT_EQ(plot({"linear", "-m", "loss", "--smooth", "1"}).status, 2);
  EXPECT_EQ(plot({"linear", "-m", "loss", "--size", "7"}).status, 2);
  EXPECT_EQ(plot({"linear@2", "-m", "loss"}).status, 2);
}

class PlotInTerminal : public PlotTest {
 protected:
  void SetUp() override {
    if (!has_terminals()) GTEST_SKIP() << "no pseudo-terminals: /dev/pts is not mounted";
  }
};

TEST_F(PlotInTerminal, FitsTheTerminalAndColoursWhereItMay) {
  const store::Run run = record({.experiment = "an experiment with a very long name indeed"});
  record({.experiment = "other"});
  Terminal wide = terminal({run.key, "other", "-m", "loss"}, {.columns = 60, .rows = 20});
  EXPECT_EQ(wide.wait(), 0);
  EXPECT_THAT(wide.drawn(), HasSubstr(kBraille));
  EXPECT_THAT(wide.drawn(), HasSubstr("\x1b[38;5;"));
  const Terminal& seen = wide;
  int lines = 0;
  std::istringstream text(seen.drawn());
  for (std::string line; std::getline(text, line); ++lines) {
    int columns = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b') {
        i = line.find('m', i);
      } else if (line[i] != '\r' && (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) {
        ++columns;
      }
    }
    EXPECT_LE(columns, 60) << line;
  }
  EXPECT_LE(lines, 20);
}

TEST_F(PlotInTerminal, UsesNoColourAndNoBrailleWhereTheTerminalHasNone) {
  record({});
  TerminalOptions options;
  options.environment["NO_COLOR"] = "1";
  Terminal plain = terminal({"linear", "-m", "loss"}, options);
  EXPECT_EQ(plain.wait(), 0);
  EXPECT_THAT(plain.drawn(), HasSubstr(kBraille));
  EXPECT_THAT(plain.drawn(), Not(HasSubstr("\x1b[")));
  options.environment["LC_ALL"] = "C";
  Terminal ascii = terminal({"linear", "-m", "loss"}, options);
  EXPECT_EQ(ascii.wait(), 0);
  EXPECT_THAT(ascii.drawn(), Not(HasSubstr(kBraille)));
  Terminal dumb = terminal({"linear", "-m", "loss"}, {.environment = {{"TERM", "dumb"}}});
  EXPECT_EQ(dumb.wait(), 0);
  EXPECT_THAT(dumb.drawn(), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(dumb.drawn(), Not(HasSubstr(kBraille)));
}

TEST_F(PlotTest, WritesAPicture) {
  record({});
  const std::string svg_file = (work_ / "loss.svg").string();
  EXPECT_EQ(plot({"linear", "-m", "loss", "-m", "accuracy", "-o", svg_file}).status, 0);
  const std::string svg = content_of(svg_file);
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\""));
  EXPECT_THAT(svg, HasSubstr(">accuracy</text>"));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
  EXPECT_EQ(plot({"linear", "-m", "loss", "-m", "accuracy", "-o", svg_file}).status, 0);
  EXPECT_EQ(content_of(svg_file), svg);
  const std::string png_file = (work_ / "loss.png").string();
  EXPECT_EQ(plot({"linear", "-m", "loss", "--size", "400x300", "-o", png_file}).status, 0);
  const std::string png = content_of(png_file);
  EXPECT_THAT(png, StartsWith("\x89PNG\r\n\x1a\n"));
  // Two pixels a unit, in the first chunk.
  EXPECT_EQ(png.substr(16, 8), std::string("\0\0\x03\x20\0\0\x02\x58", 8));
  EXPECT_EQ(plot({"linear", "-m", "loss", "-o", (work_ / "loss.gif").string()}).status, 2);
  EXPECT_EQ(plot({"linear", "-m", "loss", "-o", (work_ / "nowhere/a.svg").string()}).status, 1);
}

TEST_F(PlotTest, EscapesNamesInPictures) {
  const store::Run run = record({});
  catalog().add_values(run.id, std::vector{value("a<b>&\"c\"", 1, 0), value("a<b>&\"c\"", 2, 1)});
  const std::string file = (work_ / "odd.svg").string();
  ASSERT_EQ(plot({"linear", "-m", "a<b>&\"c\"", "-o", file}).status, 0);
  EXPECT_THAT(content_of(file), HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
  EXPECT_EQ(Process({"/usr/bin/env", "python3", "-c",
                     "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])", file},
                    {})
                .wait()
                .status,
            0);
}

TEST_F(PlotTest, LeavesWhatWasThereWhereItFails) {
  record({});
  const std::string file = (work_ / "loss.svg").string();
  std::ofstream(file) << "before";
  EXPECT_EQ(plot({"linear", "-m", "nothing", "-o", file}).status, 3);
  EXPECT_EQ(content_of(file), "before");
}

TEST_F(PlotInTerminal, FollowsALiveRunUntilItEnds) {
  const store::Run run = live();
  auto lock = store().lock_run(run.key);
  ASSERT_TRUE(lock);
  Terminal followed = terminal({"live", "-m", "accuracy", "--follow"});
  EXPECT_TRUE(followed.shows("no values"));
  catalog().add_values(run.id, std::vector{value("accuracy", 0.25, 0)});
  EXPECT_TRUE(followed.shows("last 0.25"));
  catalog().add_values(run.id, std::vector{value("accuracy", 0.75, 1)});
  EXPECT_TRUE(followed.shows("last 0.75"));
  catalog().finish_run(run.id, 2, false, "");
  lock.reset();
  EXPECT_EQ(followed.wait(), 0);
  // The cursor is back.
  EXPECT_THAT(followed.drawn(), ::testing::EndsWith("\x1b[?25h"));
}

TEST_F(PlotInTerminal, FollowingEndsCleanlyAtCtrlCAndSaysWhatNeverCame) {
  const store::Run run = live();
  auto lock = store().lock_run(run.key);
  Terminal followed = terminal({"live", "-m", "accuracy", "-f"});
  EXPECT_TRUE(followed.shows("no values"));
  followed.signal(SIGINT);
  EXPECT_EQ(followed.wait(), 130);
  EXPECT_THAT(followed.drawn(), ::testing::EndsWith("\x1b[?25h"));
  Terminal missed = terminal({"live", "-m", "accuracy", "-f"});
  EXPECT_TRUE(missed.shows("no values"));
  lock.reset();  // as if it had been killed
  EXPECT_EQ(missed.wait(), 3);
  EXPECT_EQ(plot({"live", "-m", "accuracy", "--follow"}).status, 3);
  record({});
  EXPECT_EQ(plot({"linear", "-m", "accuracy", "--follow"}).status, 2);
}

TEST_F(PlotInTerminal, FollowingARunThatLoggedNothingYetDrawsWhatComes) {
  const store::Run run = live();
  auto lock = store().lock_run(run.key);
  Terminal followed = terminal({"live", "-f"});
  catalog().add_values(run.id, std::vector{value("accuracy", 0.25, 0), value("accuracy", 0.5, 1)});
  EXPECT_TRUE(followed.shows("accuracy  last 0.5"));
  catalog().finish_run(run.id, 2, false, "");
  lock.reset();
  EXPECT_EQ(followed.wait(), 0);
}

TEST_F(PlotTest, FollowsIntoAFile) {
  const store::Run run = live();
  auto lock = store().lock_run(run.key);
  catalog().add_values(run.id, std::vector{value("accuracy", 0.25, 0)});
  const std::filesystem::path file = work_ / "live.svg";
  Process followed({FLOR_CLI, "--home", home().string(), "plot", "live", "-m", "accuracy", "-f",
                    "-o", file.string()},
                   {});
  for (int i = 0; i < 100 && !std::filesystem::exists(file); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  catalog().add_values(run.id, std::vector{value("accuracy", 0.75, 1)});
  catalog().finish_run(run.id, 2, false, "");
  lock.reset();
  EXPECT_EQ(followed.wait().status, 0);
  EXPECT_THAT(content_of(file), HasSubstr("<polyline"));
}

}  // namespace
}  // namespace flor::testing
