// `flor sweep` with a real program: what is recorded, what is shown, and what is refused.
#include "support/soon.h"
#include "sweep_fixture.h"

#include <sys/stat.h>

#include <set>

namespace flor::testing::sweep_program_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SweepProgramTest : public SweepTest {
 protected:
  /// The text of a command about the store.
  std::string flor(const Words& words) const {
    const auto result = run_process(Words{FLOR_CLI} + words, bench_.options());
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(bench_.repository().root() / name) << text;
  }
  fs::path plan(const std::string& name) const {
    return bench_.home() / "sweeps" / name / "plan.json";
  }
};

TEST_F(SweepProgramTest, EachPointIsRecordedOnceWithItsArgumentsAndTheTableRanksThem) {
  const auto result = run(Words{"rates", "-m", "mean:min", "--workers", "2"} +
                          descent({"rate=0.05,0.01", "from=9,10"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("sweep rates: 4 points: 4 finished"));
  ASSERT_THAT(runs(), SizeIs(4));
  std::set<std::string> arguments;
  for (const store::Run& run : runs()) {
    EXPECT_EQ(run.state, store::RunState::finished);
    EXPECT_EQ(run.start.experiment, "test");
    std::string text;
    for (const auto& argument : bench_.store()->catalog().arguments(run.id)) {
      if (argument.name == "rate" || argument.name == "from" || argument.name == "sweep") {
        text += argument.value + " ";
      }
    }
    arguments.insert(text);
  }
  EXPECT_THAT(arguments, SizeIs(4)) << "each has arguments of its own";
  // The same as the plain program, whatever the order.
  const auto all = means(table("rates", {"-m", "mean:min"}));
  EXPECT_THAT(all, SizeIs(4));
  double before = -1;
  const auto ranked = table("rates", {"-m", "mean:min"});
  for (const auto& point : ranked.at("points")) {
    const double mean = point["metrics"]["mean:min"];
    EXPECT_GE(mean, before) << "the best first";
    before = mean;
    bench_.record("forked", {"--kwargs", "rate=" + point["arguments"]["rate"].get<std::string>(),
                             "from=" + point["arguments"]["from"].get<std::string>()});
    const auto values = bench_.values("mean");
    double least = 1e9;
    for (const auto& value : values) least = std::min(least, real(value));
    EXPECT_EQ(mean, least);
  }
}

TEST_F(SweepProgramTest, TheSameCommandRecordsNothingTwice) {
  const Words words = descent({"rate=0.05,0.01"});
  EXPECT_EQ(run(words).status, 0);
  const auto again = run(words);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("2 points: 2 finished"));
  EXPECT_THAT(runs(), SizeIs(2));
  const std::string name = fs::directory_iterator(bench_.home() / "sweeps")->path().filename();
  EXPECT_EQ(run({name, "--resume"}).status, 0);
  EXPECT_THAT(runs(), SizeIs(2));
  EXPECT_THAT(flor({"sweep"}), AllOf(HasSubstr(name), HasSubstr("2 points: 2 finished")));
}

TEST_F(SweepProgramTest, EveryCommandChoosesItsRuns) {
  bench_.record("forked", {"--kwargs", "rate=0.02"});
  EXPECT_EQ(run(Words{"rates"} + descent({"rate=0.05,0.01"})).status, 0);
  EXPECT_THAT(lines_of(flor({"list", "-q", "--where", "sweep=rates"})), SizeIs(2));
  EXPECT_THAT(flor({"best", "mean", "--min", "--where", "sweep=rates"}), HasSubstr("of 2 runs"));
  EXPECT_THAT(flor({"query", "mean", "--group-by", "rate", "--where", "sweep=rates"}),
              AllOf(HasSubstr("0.05"), HasSubstr("0.01"), Not(HasSubstr("0.02"))));
  // An index that is made again knows it, too.
  fs::remove(bench_.home() / "catalog.db");
  EXPECT_THAT(lines_of(flor({"list", "-q", "--where", "sweep=rates"})), SizeIs(2));
  EXPECT_THAT(table("rates")["points"], SizeIs(2));
}

TEST_F(SweepProgramTest, AForkOfOneOfItsRunsIsNotOneOfThem) {
  EXPECT_EQ(run(Words{"rates"} + descent({"rate=0.05"})).status, 0);
  const std::string key = runs().at(0).key;
  const auto fork =
      bench_.run("forked", {"--flor", "test", "--flor_from", key + "@3", "--kwargs", "rate=0.02"});
  EXPECT_EQ(fork.status, 0) << fork.err;
  EXPECT_THAT(lines_of(flor({"list", "-q", "--where", "sweep=rates"})), SizeIs(1));
  // But each point may be a fork.
  const auto forks =
      run(Words{"forks"} + descent({"rate=0.01,0.03"}) + Words{"--flor_from", key + "@3"});
  EXPECT_EQ(forks.status, 0) << forks.err;
  EXPECT_THAT(lines_of(flor({"list", "-q", "--where", "sweep=forks"})), SizeIs(2));
  EXPECT_EQ(bench_.store()->catalog().forks_of(key).size(), 3u);
}

TEST_F(SweepProgramTest, PointsComeFromAFileAndFromDraws) {
  write("points.csv", "rate,from\n0.05,3\n0.01,4\n");
  EXPECT_EQ(run(Words{"file", "--points", "points.csv"} + descent({"later=0.01"})).status, 0);
  EXPECT_THAT(table("file")["points"], SizeIs(2));
  const Words drawn = Words{"drawn", "--random", "3", "--seed", "5"} +
                      descent({"rate=1e-3..1e-1:log", "from=3..6"});
  EXPECT_EQ(run(drawn).status, 0);
  const auto before = table("drawn");
  EXPECT_THAT(before["points"], SizeIs(3));
  EXPECT_EQ(run(drawn).status, 0);
  EXPECT_EQ(table("drawn"), before) << "the same seed: the same points, which are there";
}

TEST_F(SweepProgramTest, ADryRunShowsTheCommandsAndRecordsNothing) {
  const auto result = run(Words{"--dry-run"} + descent({"rate=0.05,0.01"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(lines_of(result.out), ElementsAre(HasSubstr("--flor test --kwargs rate=0.05"),
                                                HasSubstr("--flor test --kwargs rate=0.01")));
  EXPECT_FALSE(fs::exists(bench_.home()));
}

TEST_F(SweepProgramTest, AProgramThatFailsIsTriedAgainAndThenReported) {
  const Words words{"failing",  "--retries", "1",    "--",           program("lifecycle").string(),
                    "throw",    "--flor",    "test", "--flor_every", "1",
                    "--kwargs", "count=1,2"};
  const auto result = run(words);
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("it is begun again where it was"), HasSubstr("given up"),
                                HasSubstr("failing: 2 points: 2 failed")));
  EXPECT_THAT(runs(), SizeIs(2)) << "what is begun again is the same run";
  EXPECT_THAT(table("failing")["points"][0]["done"], false);
}

TEST_F(SweepProgramTest, AnArgumentThatTheProgramNeverReadsIsNamedOnce) {
  const auto result = run(Words{"misspelt"} + descent({"rat=0.1,0.2"}));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("never read the argument rat"));
  EXPECT_EQ(result.err.find("never read"), result.err.rfind("never read"));
}

TEST_F(SweepProgramTest, AProgramThatRecordsNothingIsReported) {
  const auto result = run({"nothing", "--", "true", "--kwargs", "a=1"});
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("a=1: no run"), HasSubstr("given up"),
                                Not(HasSubstr("begun again"))));
}

TEST_F(SweepProgramTest, ARunThatIsPoorIsEndedEarlyAndStaysSo) {
  // The good ones first: three have come as far before the poor one is judged.
  const Words words = Words{"stop", "--stop-poor", "first:max", "--after", "2", "--workers", "1"} +
                      Words{"--",           program("sweepable").string(),
                            "--flor",       "test",
                            "--flor_every", "1",
                            "--kwargs",     "level=5,4,3,1"};
  const auto result = run(words);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("3 finished, 1 stopped early"));
  EXPECT_THAT(lines_of(flor({"list", "-q", "--where", "tag=stopped-early"})), SizeIs(1));
  const auto poor = table("stop")["points"][3];
  EXPECT_EQ(poor["arguments"]["level"], "1");
  EXPECT_EQ(poor["status"], "stopped early");
  EXPECT_LT(poor["epochs"].get<int>(), 400);
  EXPECT_EQ(run(words).status, 0);
  EXPECT_THAT(runs(), SizeIs(4));
  EXPECT_EQ(table("stop")["points"][3], poor);
}

TEST_F(SweepProgramTest, AnInterruptLetsEachTakeACheckpointAndTheSweepGoesOn) {
  const Words words =
      Words{"slow", "--workers", "2"} + descent({"rate=0.01,0.02,0.03", "epochs=20"});
  Process sweeping(sweep(words), slowly(10'000));
  ASSERT_TRUE(soon([&] {
    return has_begun("slow") && runs().size() >= 2 && runs()[0].epochs >= 1 &&
           runs()[1].epochs >= 1;
  })) << sweeping.err();
  sweeping.kill(SIGINT);
  const auto result = sweeping.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("flor sweep slow --resume goes on"));
  for (const store::Run& run : runs()) {
    EXPECT_EQ(run.state, store::RunState::interrupted);
    EXPECT_THAT(run.message, HasSubstr("preempted by SIGUSR1")) << "each took a checkpoint";
  }
  EXPECT_EQ(run({"slow", "--resume"}).status, 0);
  ASSERT_THAT(runs(), SizeIs(3));
  for (const store::Run& run : runs()) EXPECT_EQ(run.state, store::RunState::finished);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

TEST_F(SweepProgramTest, OnlyARunThatHasFinishedLacksAMetric) {
  const Words words = Words{"early", "--workers", "1", "-m", "mean:min"} +
                      descent({"rate=0.01", "later=0.02", "epochs=2"});
  // Each of the five steps of an epoch takes two seconds, and 'mean' comes after the last.
  Process sweeping(sweep(words), slowly(2'000'000));
  ASSERT_TRUE(soon([&] { return has_begun("early") && !runs().empty(); })) << sweeping.err();
  sweeping.kill(SIGTERM);
  const auto result = sweeping.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_THAT(result.err, HasSubstr("flor sweep early --resume goes on"));
  EXPECT_TRUE(table("early", {"-m", "mean:min"})["points"][0]["metrics"]["mean:min"].is_null());

  EXPECT_EQ(run({"early", "--resume", "-m", "mean:min"}).status, 0);
  const auto wrong = run({"early", "-m", "meen:min"});
  EXPECT_EQ(wrong.status, 3);
  EXPECT_THAT(wrong.err, HasSubstr("no metric 'meen'"));
}

TEST_F(SweepProgramTest, OneProcessRunsASweepAtATime) {
  const Words words = Words{"slow", "--workers", "1"} + descent({"rate=0.01", "epochs=40"});
  Process sweeping(sweep(words), slowly(10'000));
  ASSERT_TRUE(soon([&] { return has_begun("slow"); })) << sweeping.err();
  const auto second = run(words);
  EXPECT_EQ(second.status, 6) << second.err;
  EXPECT_THAT(second.err, HasSubstr("sweep slow is being run by another process"));
  EXPECT_EQ(table("slow")["points"].size(), 1u) << "its table can be looked at";
  sweeping.kill(SIGINT);
  EXPECT_EQ(sweeping.wait().status, 130);
}

TEST_F(SweepProgramTest, APlanThatAnotherUserCouldHaveWrittenIsNotExecuted) {
  EXPECT_EQ(run(Words{"mine"} + descent({"rate=0.05"})).status, 0);
  const auto refuses = [&](const std::string& why) {
    for (const Words& words : {Words{"mine"}, Words{"mine", "--resume"}}) {
      const auto result = run(words);
      EXPECT_NE(result.status, 0);
      EXPECT_THAT(result.err, HasSubstr(why));
    }
  };
  ::chmod(plan("mine").c_str(), 0666);
  refuses("is not yours alone");
  ::chmod(plan("mine").c_str(), 0600);
  ::chmod(plan("mine").parent_path().c_str(), 0777);
  refuses("is not yours alone");
  ::chmod(plan("mine").parent_path().c_str(), 0700);
  fs::rename(plan("mine"), bench_.home() / "elsewhere.json");
  fs::create_symlink(bench_.home() / "elsewhere.json", plan("mine"));
  refuses("is not yours alone");
  fs::remove(plan("mine"));
  const std::string trap = (bench_.repository().root() / "trap").string();
  for (const std::string text :
       {"", "{}", "[]", "{\"version\": 1, \"name\": \"mine\", \"before\": [\"touch\"]}",
        "{\"version\": 2}"}) {
    std::ofstream(plan("mine")) << text;
    ::chmod(plan("mine").c_str(), 0600);
    refuses("remove the directory, and begin the sweep again");
  }
  // That of another sweep.
  fs::copy_file(bench_.home() / "elsewhere.json", plan("mine"),
                fs::copy_options::overwrite_existing);
  fs::rename(bench_.home() / "sweeps/mine", bench_.home() / "sweeps/yours");
  EXPECT_THAT(run({"yours", "--resume"}).err, HasSubstr("is that of mine"));
  EXPECT_THAT(runs(), SizeIs(1));
}

TEST_F(SweepProgramTest, ARunFromElsewhereIsTheRunOfNoPoint) {
  const Words words = Words{"rates"} + descent({"rate=0.05"});
  EXPECT_EQ(run(words).status, 0);
  const std::string bucket = "file://" + (bench_.home().parent_path() / "bucket").string();
  flor({"spool", "test", bucket});
  bench_.use_home(bench_.home().parent_path() / "other");
  flor({"fetch", "test", bucket});
  const auto result = run(words);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 point: 1 open"));
  EXPECT_THAT(runs(), SizeIs(2));
}

TEST_F(SweepProgramTest, APlanThatWasCutOffIsNamedAndTheOtherSweepsAreShown) {
  ASSERT_EQ(run(Words{"whole"} + descent({"rate=0.1"})).status, 0);
  ASSERT_EQ(run(Words{"half"} + descent({"rate=0.1"})).status, 0);
  fs::resize_file(plan("half"), fs::file_size(plan("half")) / 2);
  const auto all = run_process({FLOR_CLI, "sweep"}, bench_.options());
  EXPECT_EQ(all.status, 4);
  EXPECT_THAT(all.out, HasSubstr("whole"));
  EXPECT_THAT(all.err, HasSubstr("half/plan.json is no plan of a sweep: remove the directory"));
  EXPECT_THAT(flor({"sweep", "whole"}), HasSubstr("finished"));
  fs::remove_all(plan("half").parent_path());
  EXPECT_EQ(run(Words{"half"} + descent({"rate=0.1"})).status, 0);
  EXPECT_THAT(runs(), SizeIs(2)) << "its run counts";
}

TEST_F(SweepProgramTest, AnArgumentThatIsAMetricTooIsCalledAnArgument) {
  ASSERT_EQ(run(Words{"rates"} + descent({"rate=0.1,0.2"})).status, 0);
  EXPECT_THAT(flor({"sweep", "rates"}), HasSubstr("arg:rate"));
}

TEST_F(SweepProgramTest, APlanThatIsLostIsMadeAgainAndItsRunsCount) {
  const Words words = Words{"rates"} + descent({"rate=0.05,0.01"});
  EXPECT_EQ(run(words).status, 0);
  fs::remove_all(bench_.home() / "sweeps");
  EXPECT_EQ(run(words).status, 0);
  EXPECT_THAT(runs(), SizeIs(2));
}

TEST_F(SweepProgramTest, WordsThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  const std::string forked = program("forked").string();
  const std::vector<std::pair<Words, std::string>> cases{
      {{"--", forked}, "no points"},
      {{"--", forked, "--kwargs"}, "no points"},
      {{"--", "./nothing", "--kwargs", "a=1"}, "is no program that can be executed"},
      {{"--", "no-such-program-here", "--kwargs", "a=1"},
       "no program no-such-program-here on PATH"},
      {{"--", forked, "--flor", "--kwargs", "a=1"}, "needs the name of its experiment"},
      {{"--", forked, "--flor_resume", "--kwargs", "a=1"}, "leave it out"},
      {{"--", forked, "--flor_home=x", "--kwargs", "a=1"}, "leave it out"},
      {{"--", forked, "--replay", "--kwargs", "a=1"}, "leave it out"},
      {{"--", forked, "--kwargs", "sweep=1"}, "call it otherwise"},
      {{"--", forked, "--kwargs", "password=hunter2"}, "password=***: a secret would be kept"},
      {{"--", forked, "--api-key", "hunter2", "--kwargs", "a=1"}, "a secret would be kept"},
      {{"--", forked, "--kwargs", "a=0.1..0.2"}, "--random N draws from it"},
      {{"-m", "loss", "--", forked, "--kwargs", "a=1"}, "which values are good?"},
      {{"--stop-poor", "loss", "--", forked, "--kwargs", "a=1"}, "which values are good?"},
      {{"--seed", "1", "--", forked, "--kwargs", "a=1"}, "--seed belongs to --random"},
      {{"--after", "1", "--", forked, "--kwargs", "a=1"}, "--after belongs to --stop-poor"},
      {{"../x", "--", forked, "--kwargs", "a=1"}, "is no name for a sweep"},
      {{"x", "--resume", "--", forked, "--kwargs", "a=1"}, "leave out what is after --"},
      {{"--resume"}, "which sweep?"},
      {{"x", "--workers", "2"}, "nothing would be recorded"},
      {{"--random", "2"}, "name it"},
      {{"--points", "none.csv", "--", forked}, "cannot read none.csv"},
      {{"--name", "x", "--", forked, "--kwargs", "a=1"}, "flor sweep NAME -- PROGRAM"}};
  for (const auto& [words, why] : cases) {
    const auto result = run(words);
    EXPECT_THAT(result.status, ::testing::AnyOf(2, 3)) << why;
    EXPECT_THAT(result.err, SaysOnce(why));
  }
  EXPECT_FALSE(fs::exists(bench_.home()));
}

TEST_F(SweepProgramTest, AnotherSweepOfTheSameNameIsRefused) {
  EXPECT_EQ(run(Words{"rates"} + descent({"rate=0.05"})).status, 0);
  const auto other = run(Words{"rates"} + descent({"rate=0.01"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, SaysOnce("sweep rates has other points"));
  const auto missing = run({"ratse"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, SaysOnce("did you mean 'rates'?"));
}

TEST_F(SweepProgramTest, AProgramWithoutANameIsRecordedUnderItsOwnWithTheThreadsThatAreSharedOut) {
  const auto result =
      run({"named", "--workers", "1", "--threads", "3", "--", program("forked").string(),
           "--kwargs", "rate=0.1", "--flor_every", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(runs().at(0).start.experiment, "forked");
  EXPECT_EQ(runs().at(0).start.environment.at("OMP_NUM_THREADS"), "3");
}

TEST_F(SweepProgramTest, APopulationGoesOnFromTheBestOfTheRoundBefore) {
  auto options = bench_.options();
  options.environment["PATH"] =
      fs::path(FLOR_CLI).parent_path().string() + ":" + std::getenv("PATH");
  const auto result =
      run_process({"python3", FLOR_POPULATION, "3", program("sweepable").string()}, options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(lines_of(result.out), SizeIs(2));
  ASSERT_THAT(runs(), SizeIs(12));
  double before = 1;
  for (const char* name : {"population-0", "population-1", "population-2"}) {
    const auto points = table(name, {"-m", "loss:min"})["points"];
    ASSERT_THAT(points, SizeIs(4));
    const double best = points[0]["metrics"]["loss:min"];
    EXPECT_LT(best, before) << "it has the weights of the best before";
    before = best;
  }
  std::set<std::string> parents;
  for (const store::Run& run : runs()) {
    const auto fork = bench_.store()->catalog().fork(run.id);
    if (fork) parents.insert(fork->parent);
  }
  EXPECT_THAT(parents, SizeIs(2));
}

}  // namespace
}  // namespace flor::testing::sweep_program_test
