// Wrong flags, arguments and names: one line that says what is wrong and how it is right, the
// status that scripts rely on, and nothing written.
#include "workbench.h"

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

struct Wrong {
  Words flags;
  const char* says;
  int status = 2;
};

class Usage : public ::testing::Test {
 protected:
  void expect_refused(const Wrong& wrong) {
    std::string text;
    for (const auto& flag : wrong.flags) text += flag + " ";
    SCOPED_TRACE(text);
    const auto result = bench_.run("lifecycle", wrong.flags + Words{"arguments"});
    EXPECT_EQ(result.status, wrong.status);
    EXPECT_THAT(result.err, SaysOnce(wrong.says));
    EXPECT_EQ(lines_with(result.out, {"step", "tail"}).size(), 0u) << "it must not train";
  }
  Workbench bench_;
};

TEST_F(Usage, WrongFlagsSayTheRightForm) {
  const std::vector<Wrong> all{
      {{"--flor", "a", "--flor", "b"}, "given twice"},
      {{"--flor="}, "--flor NAME"},
      {{"--flor", ""}, "the name is empty"},
      {{"--flor", "x", "--replay_flor"}, "exclude each other"},
      {{"--replay", "--replay_flor"}, "asked for twice"},
      {{"--replay_flor", "2/2"}, "0 <= PID < NGPUS"},
      {{"--replay_flor", "9/3"}, "for example --replay_flor 0/2"},
      {{"--replay", "0/0"}, "for example --replay 0/2"},
      {{"--replay_flor=x"}, "expected PID/NGPUS"},
      {{"--replay_flor=-1/2"}, "expected PID/NGPUS"},
      {{"--replay_flor=1/2/3"}, "expected PID/NGPUS"},
      {{"--replay_flor=1"}, "expected PID/NGPUS"},
      {{"--replay_flor", "99999999999999999999/3"}, "expected PID/NGPUS"},
      {{"--flor_run", "x"}, "add --replay_flor"},
      {{"--flor_every", "3"}, "add --flor NAME"},
      {{"--flor_threads", "3"}, "add --replay_flor"},
      {{"--flor", "x", "--flor_no_probe"}, "add --replay_flor"},
      {{"--flor", "x", "--flor_every", "0"}, "at least 1"},
      {{"--flor", "x", "--flor_every", "1.5"}, "at least 1"},
      {{"--flor", "x", "--flor_every=many"}, "whole number"},
      {{"--flor", "x", "--flor_epsilon", "-1"}, "share of the computing time"},
      {{"--flor", "x", "--flor_epsilon", "few"}, "share of the computing time"},
      {{"--flor", "x", "--flor_epsilon=nan"}, "share of the computing time"},
      {{"--flor_epsilon", "0.1"}, "add --flor NAME"},
      {{"--flor", "x", "--flor_epsilon", "0.1", "--flor_every", "2"}, "exclude each other"},
      {{"--flor", "x", "--flor_no_git=yes"}, "takes no value"},
      {{"--replay", "--flor_init", "slow"}, "expected weak or strong"},
      {{"--replay", "--flor_probe", ""}, "--flor_probe LOOP"},
      {{"--replay", "--flor_probe=a,,b"}, "name of a loop"},
      {{"--replay", "--flor_threads", "0"}, "at least 1"},
      {{"--florist"}, "unknown flag --florist"},
      {{"--flor_evry", "2"}, "did you mean --flor_every N?"},
      {{"-flor", "x"}, "did you mean --flor [NAME]?"},
      {{"--replayflor"}, "did you mean --replay_flor [PID/NGPUS]?"},
      {{"--Flor", "x"}, "did you mean --flor [NAME]?"},
      {{"--record", "x"}, "did you mean --flor [NAME]?"},
      {{"--replay_flor", "--flor_probe", "train", "1/2"}, "write --replay_flor 1/2"},
      {{"--replay_flora"}, "unknown flag --replay_flora"},
      {{"--flor", "x", "--kwargs"}, "--kwargs lr=0.01"},
      {{"--flor", "x", "--kwargs="}, "NAME=VALUE"},
      {{"--flor", "x", "--kwargs", "=3"}, "NAME=VALUE"},
      {{"--replay", "--kwargs", "rate=1"}, "recorded arguments"},
  };
  for (const Wrong& wrong : all) expect_refused(wrong);
  EXPECT_FALSE(std::filesystem::exists(bench_.home())) << "nothing was to be written";
  EXPECT_EQ(bench_.repository().git_line({"for-each-ref", "--format=%(refname)"}),
            "refs/heads/main");
}

TEST_F(Usage, HelpIsOneScreenAndEndsTheProgram) {
  for (const char* flag : {"--flor_help", "--flor-help"}) {
    const auto result = bench_.run("lifecycle", {"--flor", "x", flag});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_LE(lines_of(result.out).size(), 28u);
    EXPECT_THAT(result.out, HasSubstr("--replay_flor [PID/NGPUS]"));
  }
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
}

TEST_F(Usage, AFlagWithoutItsValueSaysWhatIsMissing) {
  for (const char* flag :
       {"--flor_home", "--flor_every", "--flor_epsilon", "--flor_run", "--flor_init"}) {
    const auto result = bench_.run("lifecycle", {"--flor", "x", flag});
    EXPECT_EQ(result.status, 2) << flag;
    EXPECT_THAT(result.err, SaysOnce(std::string(flag) + " needs a value"));
  }
}

TEST_F(Usage, RunsThatDoNotExistAreNotFound) {
  expect_refused({{"--replay"}, "record a run first", 3});
  bench_.record("lifecycle");
  expect_refused({{"--replay", "--flor_run", "nosuch"}, "nosuch", 3});
  expect_refused({{"--replay", "--flor_run", "test~7"}, "test~7", 3});
  expect_refused({{"--replay", "--flor_run", "0000000000000000"}, "0000000000000000", 3});
  Workbench other;
  auto options = other.options();
  options.environment["FLOR_HOME"] = bench_.home().string();
  const auto result = other.run("lifecycle", {"--replay"}, options);
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.err, SaysOnce("no run was recorded in"));
}

TEST_F(Usage, ProbingALoopThatTheRunDoesNotHaveSaysWhichItHas) {
  bench_.record("lifecycle");
  expect_refused({{"--replay", "--flor_probe", "test"}, "it has train", 2});
  EXPECT_TRUE(bench_.replays().empty());
}

TEST_F(Usage, WithoutANameAFirstRecordingIsRefusedAndLaterOnesKeepTheirName) {
  expect_refused({{"--flor", "--kwargs", "rate=1"}, "needs a name"});
  bench_.record("lifecycle");
  EXPECT_EQ(bench_.run("lifecycle", {"plain", "--flor"}).status, 0);
  EXPECT_EQ(bench_.last_run().start.experiment, "test");
  EXPECT_EQ(bench_.run_count(), 2u);
}

TEST_F(Usage, WithoutARepositoryTheRemedyIsNamed) {
  TemporaryDirectory elsewhere;
  auto options = bench_.options();
  options.directory = elsewhere.path();
  const auto refused = bench_.run("lifecycle", {"--flor", "test"}, options);
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, SaysOnce("git init"));
  EXPECT_THAT(refused.err, SaysOnce("--flor_no_git"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
  const auto recorded = bench_.run("lifecycle", {"--flor", "test", "--flor_no_git"}, options);
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(bench_.last_run().start.commit, "");
  EXPECT_EQ(bench_.run("lifecycle", {"--replay_flor"}, options).status, 0);
}

class Arguments : public ::testing::Test {
 protected:
  ProcessResult record(const Words& kwargs) {
    return bench_.run("lifecycle", Words{"arguments", "--flor", "test", "--kwargs"} + kwargs);
  }
  Workbench bench_;
};

TEST_F(Arguments, OfAnotherTypeAreRefusedAndLeaveNoRun) {
  for (const char* wrong : {"count=x", "count=3.5", "count=", "count=99999999999", "rate=fast",
                            "rate=1e999", "fast=maybe", "count=0x10", "count= 3"}) {
    const auto result = record({wrong});
    EXPECT_EQ(result.status, 2) << wrong;
    EXPECT_THAT(result.err, SaysOnce(std::string("--kwargs ") + wrong));
  }
  EXPECT_EQ(bench_.run_count(), 0u);
  const auto plain = bench_.run("lifecycle", {"arguments", "--kwargs", "count=x"});
  EXPECT_EQ(plain.status, 2) << "without a recording, too";
  EXPECT_THAT(plain.err, SaysOnce("is not a whole number"));
}

// Defect 23: arguments called like a subcommand were taken away, and "=" in a value crashed.
TEST_F(Arguments, MayHoldWhateverTheUserWants) {
  const auto result = record({"title=a=b c", "rate=0.1", "fast=true", "count=-2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("title a=b c\n"));
  EXPECT_THAT(result.out, HasSubstr("count -2\n"));
  EXPECT_THAT(result.out, HasSubstr("fast 1\n"));
  for (const char* word : {"query", "stat", "replay", "unpack"}) {
    const auto other = bench_.run("lifecycle", {"plain", word, "--flor", "test"});
    EXPECT_THAT(other.out, HasSubstr(std::string("argument ") + word + "\n"));
  }
}

TEST_F(Arguments, ComeBackOnReplayBitForBit) {
  const auto recorded = record({"rate=0.1", "count=7", "title="});
  const auto replayed = bench_.replay("lifecycle", {"arguments"});
  const Words names{"count", "rate", "fast", "title"};
  EXPECT_EQ(lines_with(replayed.out, names), lines_with(recorded.out, names));
  EXPECT_EQ(lines_with(replayed.out, names).size(), 4u);
}

TEST_F(Arguments, WorkWithoutARecording) {
  const auto result = bench_.run("lifecycle", {"arguments", "--kwargs", "count=9"});
  EXPECT_THAT(result.out, HasSubstr("count 9\n"));
  EXPECT_FALSE(std::filesystem::exists(bench_.home()));
}

TEST_F(Arguments, ThatMustBeGivenAreAskedForAndLeaveNoRun) {
  const auto result = bench_.run("lifecycle", {"required", "--flor", "test"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, SaysOnce("--kwargs needed=VALUE"));
  EXPECT_EQ(bench_.run_count(), 0u);
}

TEST_F(Arguments, ThatNobodyAsksForAreSaid) {
  const auto result = record({"coutn=3"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("the program never asked for an argument 'coutn'"));
}

}  // namespace
}  // namespace flor::testing
