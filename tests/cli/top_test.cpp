// flor top: runs while they are recorded.
#include "cli/fixture.h"
#include "index/values/machine.h"
#include "output/time.h"
#include "support/terminal.h"
#include "view/live_run.h"

#include <gmock/gmock.h>

#include <fstream>

namespace flor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000;

std::optional<std::int64_t> planned(const char* name, const char* type, const char* value,
                                    std::int64_t done = 0) {
  return cli::planned_epochs(std::vector<store::Argument>{{"lr", "real", "1"}, {name, type, value}},
                             done);
}

TEST(PlannedEpochs, AreSaidByAnArgument) {
  EXPECT_EQ(planned("epochs", "int", "40"), 40);
  EXPECT_EQ(planned("max_epochs", "int", "40", 40), 40);
  EXPECT_EQ(planned("train.epochs", "int", "1"), 1);
  const store::Argument warmup{"warmup_epochs", "int", "5"}, most{"max_epochs", "int", "40"},
      plain{"epochs", "int", "60"};
  EXPECT_EQ(cli::planned_epochs(std::vector{warmup, most, plain}, 0), 60);
  EXPECT_FALSE(cli::planned_epochs(std::vector{warmup, most}, 0)) << "either may be meant";
  EXPECT_FALSE(planned("epochs", "int", "40", 41));
  EXPECT_FALSE(planned("epochs", "text", "40"));
  EXPECT_FALSE(planned("epochs", "int", "0"));
  EXPECT_FALSE(planned("epoch", "int", "40"));
  EXPECT_FALSE(planned("warmepochs", "int", "40"));
}

std::vector<store::Iteration> epochs(const std::vector<double>& seconds) {
  std::vector<store::Iteration> result;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    result.push_back({0, static_cast<std::int64_t>(i), seconds[i], seconds[i] / 5});
  }
  return result;
}

TEST(Pace, OfNoEpochIsUnknown) {
  const cli::RunPace pace = cli::pace_of({}, 4, 0, kSecond);
  EXPECT_FALSE(pace.epoch_seconds || pace.left_seconds || pace.overhead);
}

TEST(Pace, IsThatOfTheLatestEpochs) {
  const auto done = epochs({100, 10, 20, 30, 40, 50});
  const cli::RunPace pace = cli::pace_of(done, 10, 0, 12 * kSecond);
  EXPECT_DOUBLE_EQ(*pace.epoch_seconds, 30);
  EXPECT_DOUBLE_EQ(*pace.left_seconds, 4 * 30 - 12);
  EXPECT_DOUBLE_EQ(*pace.overhead, 0.25);
  EXPECT_FALSE(cli::pace_of(done, std::nullopt, 0, kSecond).left_seconds);
}

TEST(Pace, OfAnEpochThatTakesLongerLeavesTheLaterOnes) {
  const auto done = epochs({10, 10});
  EXPECT_DOUBLE_EQ(*cli::pace_of(done, 4, 0, 500 * kSecond).left_seconds, 10);
  EXPECT_DOUBLE_EQ(*cli::pace_of(done, 2, 0, 500 * kSecond).left_seconds, 0);
  // A clock that was set back.
  EXPECT_DOUBLE_EQ(*cli::pace_of(done, 4, 500 * kSecond, 0).left_seconds, 20);
}

class TopTest : public CliTest {
 protected:
  store::Run begin(std::string experiment = "live", std::optional<store::RankPlace> rank = {}) {
    store::NewRun start;
    start.experiment = std::move(experiment);
    start.started_us = 1'700'000'000 * kSecond;
    start.rank = rank;
    const store::Run run = catalog().add_run(start);
    locks_.push_back(store().lock_run(run.key));
    catalog().add_argument(run.id, {"epochs", "int", "8"});
    catalog().add_argument(run.id, {"lr", "real", "0.1"});
    catalog().put_main_loop(run.id, {0, "epoch", 0, 3, false, false});
    for (int epoch = 0; epoch < 3; ++epoch) catalog().add_iteration(run.id, {0, epoch, 2, 0.01});
    catalog().add_values(run.id, std::vector{value("loss", 0.5, 2), value("accuracy", 0.75, 2)});
    return *catalog().run(run.id);
  }
  Outcome top(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "top");
    return flor(arguments);
  }

  std::vector<std::optional<store::RunLock>> locks_;
};

TEST_F(TopTest, ShowsHowFarARunIs) {
  const store::Run run = begin();
  const auto lines = top().lines();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0], "run       experiment  epochs  an epoch  left  recording  metric    heard");
  // The epoch that goes on has taken longer than the others.
  EXPECT_THAT(lines[1], StartsWith(run.key.substr(0, 8) +
                                   "  live           3/8       2 s   8 s     0.50 %  loss=0.5  "));
  EXPECT_THAT(top({"-m", "accuracy"}).out, HasSubstr("accuracy=0.75"));
}

TEST_F(TopTest, ShowsWhatTheMachineToldLast) {
  const store::Run run = begin();
  begin("unsampled");
  catalog().add_values(
      run.id,
      std::vector{store::machine_value("cpu", 2, 10, 99), store::machine_value("cpu", 3, 20, 45),
                  store::machine_value("memory", 3, 20, 3.0 * (1 << 30)),
                  store::machine_value("gpu0", 3, 20, 80), store::machine_value("gpu1", 3, 20, 90),
                  store::machine_value("gpu1_memory", 3, 20, 1e9)});
  const auto lines = top().lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr("recording   CPU   memory      GPU  metric"));
  EXPECT_THAT(lines[1], HasSubstr("0.50 %     -        -        -  loss=0.5"));
  EXPECT_THAT(lines[2], HasSubstr("0.50 %  45 %  3.0 GiB  2: 85 %  loss=0.5"));
  const auto running = flor({"top", "--json"}).json()["running"];
  EXPECT_TRUE(running[0]["machine"].is_null());
  EXPECT_EQ(running[1]["machine"]["cpu"], 45);
  EXPECT_EQ(running[1]["machine"]["gpu1"], 90);
}

TEST_F(TopTest, IsJsonForPrograms) {
  const store::Run run = begin();
  const Json json = top({"--json"}).json();
  EXPECT_THAT(json["ended"], IsEmpty());
  ASSERT_THAT(json["running"], SizeIs(1));
  const Json& one = json["running"][0];
  EXPECT_EQ(one["id"], run.key);
  EXPECT_EQ(one["status"], "running");
  EXPECT_EQ(one["epochs"], 3);
  EXPECT_EQ(one["planned_epochs"], 8);
  EXPECT_EQ(one["epoch_seconds"], 2.0);
  EXPECT_EQ(one["left_seconds"], 8.0);
  EXPECT_EQ(one["metric"], "loss");
  EXPECT_EQ(one["value"], 0.5);
  EXPECT_THAT(one["heard"].get<std::string>(), StartsWith("20"));
}

TEST_F(TopTest, RunsThatHaveJustEndedStandBelow) {
  record({});  // ended long ago
  const store::Run live = begin(), done = begin("done"), killed = begin("killed");
  catalog().finish_run(done.id, cli::now_us(), false, "");
  locks_[1].reset();
  locks_[2].reset();
  const auto lines = top().lines();
  ASSERT_THAT(lines, SizeIs(5)) << top().out;
  EXPECT_THAT(lines[1], StartsWith(live.key.substr(0, 8)));
  EXPECT_EQ(lines[2], "");
  EXPECT_EQ(lines[3], "run       experiment  epochs  status    metric    ended");
  EXPECT_EQ(lines[4], done.key.substr(0, 8) + "  done           3/8  finished  loss=0.5  just now");
}

TEST_F(TopTest, ARunWhoseProcessWasKilledEndedWhenItWasLastHeardOf) {
  const store::Run run = begin();
  close();
  // The lock stays where a process was killed.
  locks_.clear();
  std::filesystem::create_directories(home() / "locks");
  std::ofstream(home() / "locks" / (run.key + ".lock")).close();
  const Json json = top({"--json"}).json();
  EXPECT_THAT(json["running"], IsEmpty());
  ASSERT_THAT(json["ended"], SizeIs(1));
  EXPECT_EQ(json["ended"][0]["status"], "interrupted");
  EXPECT_TRUE(json["ended"][0]["left_seconds"].is_null());
}

TEST_F(TopTest, RanksAreOneLine) {
  const store::Run first = begin("fit", store::RankPlace{0, 0, 2});
  begin("fit", store::RankPlace{first.id, 1, 2});
  const auto lines = top().lines();
  ASSERT_THAT(lines, SizeIs(2)) << top().out;
  EXPECT_THAT(lines[0], StartsWith("run       experiment  ranks  epochs"));
  EXPECT_THAT(lines[1], StartsWith(first.key.substr(0, 8) + "  fit             2     3/8"));
}

TEST_F(TopTest, ChoosesByExperimentAndCondition) {
  begin("a");
  begin("b");
  EXPECT_THAT(top({"a"}).lines(), SizeIs(2));
  EXPECT_THAT(top({"--where", "lr>1"}).lines(), IsEmpty());
  EXPECT_THAT(top({"--where", "lr<1"}).lines(), SizeIs(3));
  EXPECT_EQ(top({"c"}).status, 3);
  EXPECT_EQ(top({"--where", "nothing=1"}).status, 3);
}

TEST_F(TopTest, SaysWhereNothingIsRecorded) {
  record({});
  const Outcome outcome = top();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(outcome.err, "flor: nothing is being recorded: ./train --flor NAME records a run\n");
}

TEST_F(TopTest, ATerminalIsDrawnAgainUntilCtrlC) {
  if (!has_terminals()) GTEST_SKIP() << "there are no pseudo terminals here";
  const store::Run run = begin();
  Terminal terminal({FLOR_CLI, "--home", home().string(), "top"}, {.columns = 120});
  ASSERT_TRUE(terminal.shows("loss=0.5"));
  catalog().add_values(run.id, std::vector{value("loss", 0.25, 3)});
  EXPECT_TRUE(terminal.shows("loss=0.25"));
  catalog().finish_run(run.id, cli::now_us(), false, "");
  locks_.clear();
  EXPECT_TRUE(terminal.shows("finished"));
  EXPECT_TRUE(terminal.shows("nothing is being recorded"));
  terminal.signal(SIGINT);
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.drawn(), HasSubstr("\x1b[?25h"));
}

TEST_F(TopTest, OnceOnATerminalIsATableAlone) {
  if (!has_terminals()) GTEST_SKIP() << "there are no pseudo terminals here";
  begin();
  Terminal terminal({FLOR_CLI, "--home", home().string(), "top", "--once"}, {.columns = 120});
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_THAT(terminal.drawn(), HasSubstr("loss=0.5"));
  EXPECT_THAT(terminal.drawn(), Not(HasSubstr("\x1b[2J")));
}

}  // namespace
}  // namespace flor::testing
