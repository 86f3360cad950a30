// A run that begins with the state of another one computes what that one went on to compute, or
// what a program computes that was written to change there what the fork changes.
#include "whole_record.h"
#include "workbench.h"

#include "maintain/collect.h"

#include <csignal>
#include <cstdio>

namespace flor::testing::fork_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string at(const store::Run& run, std::int64_t epoch) {
  return run.key + "@" + std::to_string(epoch);
}

/// The printed lines of the epochs from `first` on.
Words epochs_from(const std::string& text, std::int64_t first) {
  Words lines;
  for (const std::string& line : lines_with(text, {"step", "tail"})) {
    if (std::stoll(line.substr(5)) >= first) lines.push_back(line);
  }
  return lines;
}

class Forks : public ::testing::Test {
 protected:
  ProcessResult fork(const std::string& program, const store::Run& parent, std::int64_t epoch,
                     const Words& arguments = {}) const {
    return bench_.run(program, Words{"--flor_from", at(parent, epoch)} + arguments);
  }
  WholeRecord record_of(const store::Run& run) const {
    return whole_record(*bench_.store(), run.id);
  }
  std::optional<store::Fork> origin(const store::Run& run) const {
    return bench_.store()->catalog().fork(run.id);
  }

  Workbench bench_;
};

class ForkedLoops : public Forks, public ::testing::WithParamInterface<const char*> {};

TEST_P(ForkedLoops, AtAnyEpochEndInTheBitsOfTheRunThatWentOn) {
  const auto whole = bench_.record("loops", {"--kwargs", std::string("scenario=") + GetParam()});
  const store::Run parent = bench_.last_run();
  const WholeRecord expected = record_of(parent);
  for (std::int64_t epoch = 0; epoch < parent.epochs; ++epoch) {
    SCOPED_TRACE(epoch);
    const auto forked = fork("loops", parent, epoch);
    if (forked.status == 3) {  // a loop that was left by break is over
      EXPECT_EQ(epoch, parent.epochs - 1) << forked.err;
      EXPECT_THAT(forked.err, HasSubstr("is not stored"));
      continue;
    }
    ASSERT_EQ(forked.status, whole.status) << forked.err;
    EXPECT_THAT(forked.err, Not(HasSubstr("differ")));
    const store::Run run = bench_.last_run();
    ASSERT_NE(run.key, parent.key);
    EXPECT_EQ(run.state, parent.state);
    const WholeRecord again = record_of(run);
    EXPECT_EQ(again.values, expected.values);
    EXPECT_EQ(again.loops, expected.loops);
    EXPECT_EQ(again.iterations, expected.iterations);
    EXPECT_EQ(again.executions, expected.executions);
    EXPECT_EQ(again.arguments, expected.arguments);
    EXPECT_EQ(again.checkpoints, expected.checkpoints);
    ASSERT_TRUE(origin(run));
    EXPECT_EQ(origin(run)->parent, parent.key);
    EXPECT_EQ(origin(run)->epoch, epoch + 1);
    // What was neither given nor written otherwise would compute the copied epochs, too.
    EXPECT_TRUE(origin(run)->exact);
    const Words strong = std::string(GetParam()) == "grows" ? Words{"--flor_init", "strong"} : Words{};
    const auto replayed = bench_.replay("loops", Words{"--flor_run", run.key} + strong);
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  }
  EXPECT_EQ(record_of(parent), expected);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ForkedLoops,
    ::testing::Values("plain", "without_nested", "break_nested", "break_main", "return_nested",
                      "continue_both", "early_stopping", "two_mains", "same_main_twice", "unnamed",
                      "two_nested", "same_nested_twice", "three_deep", "nested_now_and_then",
                      "words_in_a_list", "shuffled_main", "shuffled_nested", "attached_locals",
                      "attached_best", "attached_to_main", "grows", "from_five", "repeated_names"),
    [](const auto& parameter) { return std::string(parameter.param); });

class ForkTest : public Forks {
 protected:
  store::Run parent(const Words& arguments = {}) {
    recorded_ = bench_.record("forked", arguments);
    return bench_.last_run();
  }
  ProcessResult recorded_;
};

TEST_F(ForkTest, WithAnotherRateIsAProgramThatWasWrittenToChangeItThere) {
  const auto written = bench_.record("forked", {"--kwargs", "rate=0.1", "later=0.02", "from=3"});
  const store::Run run = parent();
  const auto forked = fork("forked", run, 2, {"--kwargs", "rate=0.02"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(epochs_from(forked.out, 3), epochs_from(written.out, 3));
  EXPECT_THAT(epochs_from(forked.out, 0), epochs_from(forked.out, 3));
  EXPECT_THAT(forked.err, HasSubstr("rate=0.02 (it had 0.1)"));
  EXPECT_THAT(forked.err, HasSubstr("not checked: it does not compute what run " +
                                    run.key.substr(0, 8) + " computed"));
  // What is logged outside of the loops is the fork's own.
  EXPECT_EQ(real(bench_.values("rate").at(0)), 0.02);
  EXPECT_EQ(bench_.values("mean").size(), 8U);
}

TEST_F(ForkTest, GoesOnBeyondTheEndOfAFinishedRun) {
  const auto longer = bench_.record("forked", {"--kwargs", "epochs=12"});
  const store::Run run = parent();
  const auto forked = bench_.run("forked", {"--flor_from", run.key, "--kwargs", "epochs=12"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_EQ(epochs_from(forked.out, 0), epochs_from(longer.out, 8));
  EXPECT_EQ(bench_.last_run().epochs, 12);
}

TEST_F(ForkTest, ReplaysItsOwnEpochsAndNamesTheRunOfTheOthers) {
  const store::Run run = parent();
  ASSERT_EQ(fork("forked", run, 3, {"--kwargs", "rate=0.05"}).status, 0);
  const store::Run forked = bench_.last_run();
  const auto truth = bench_.run("forked_hindsight", {"--flor_from", at(run, 3), "--kwargs",
                                                     "rate=0.05", "--flor", "truth"});
  ASSERT_EQ(truth.status, 0) << truth.err;
  std::vector<double> expected;
  for (const auto& value : bench_.values("first")) expected.push_back(real(value));
  ASSERT_EQ(expected.size(), 4U);
  for (const Words& flags : {Words{}, Words{"--flor_probe", "train"}, Words{"--flor_init", "strong"}}) {
    const auto replayed =
        bench_.run("forked_hindsight", Words{"--replay_flor", "--flor_run", forked.key} + flags);
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    std::vector<double> found;
    const auto store = bench_.store();
    for (const auto& value : store->catalog().values(
             {.run = forked.id, .names = {"first"}, .first_epoch = -1, .recorded = false})) {
      EXPECT_GE(value.place.epoch, 4);
      found.push_back(real(value));
    }
    EXPECT_EQ(found, expected);
  }
  const auto copied = bench_.replay("forked", {"--flor_run", forked.key, "--flor_epochs", "2..5"});
  EXPECT_EQ(copied.status, 2);
  EXPECT_THAT(copied.err, HasSubstr("epochs 0 to 3 of this run are copied from run " +
                                    run.key.substr(0, 8)));
}

TEST_F(ForkTest, OfAForkWithChangesComputesOnlyItsOwnEpochs) {
  const store::Run run = parent();
  ASSERT_EQ(fork("forked", run, 3, {"--kwargs", "rate=0.05"}).status, 0);
  const store::Run first = bench_.last_run();
  for (const std::int64_t epoch : {3, 5}) {
    const auto second = fork("forked", first, epoch);
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_THAT(second.err, HasSubstr("itself was forked or resumed with changes"));
    const store::Run forked = bench_.last_run();
    EXPECT_EQ(record_of(forked).values, record_of(first).values);
    EXPECT_FALSE(origin(forked)->exact);
    const auto replayed = bench_.replay("forked", {"--flor_run", forked.key, "--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
  }
}

TEST_F(ForkTest, WithAnArgumentThatTheOtherRunDidNotHaveIsAnotherProgram) {
  const store::Run run = parent();
  const auto forked = fork("forked", run, 3, {"--kwargs", "unknown=1"});
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_THAT(forked.err, HasSubstr("unknown=1 (it had none)"));
  EXPECT_FALSE(origin(bench_.last_run())->exact);
}

TEST_F(ForkTest, OfARunThatAnotherProgramResumedIsNotExact) {
  auto options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":12";
  const auto cut = bench_.run("forked", {"--flor", "test", "--flor_every", "1"}, options);
  ASSERT_EQ(cut.status, 75) << cut.err;
  const auto resumed = bench_.run(
      "forked_hindsight", {"--flor", "test", "--flor_resume", "--flor_check", "none"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const store::Run run = bench_.last_run();
  const auto forked = fork("forked_hindsight", run, 0);
  ASSERT_EQ(forked.status, 0) << forked.err;
  EXPECT_THAT(forked.err, HasSubstr("itself was forked or resumed with changes"));
  EXPECT_FALSE(origin(bench_.last_run())->exact);
}

TEST_F(ForkTest, IsResumedByTheSameCommandAlsoAfterRunsOfOtherNames) {
  const store::Run run = parent();
  const Words command{"--flor_from", at(run, 2), "--flor_resume", "auto"};
  auto options = bench_.options();
  options.environment["RAISE"] = std::to_string(SIGTERM) + ":7";
  ASSERT_EQ(bench_.run("forked", command, options).status, 75);
  const store::Run forked = bench_.last_run();
  ASSERT_EQ(bench_.run("forked", {"--flor", "other"}).status, 0);
  const auto again = bench_.run("forked", command);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("resuming run " + forked.key.substr(0, 8)));
  EXPECT_EQ(bench_.run_count(), 3U);
}

TEST_F(ForkTest, BeginsWhileTheOtherRunTrains) {
  const auto training = bench_.start("trainer", {"--flor", "live", "--flor_every", "1", "--kwargs",
                                                 "epochs=6", "pause_ms=60"});
  ASSERT_TRUE(training->await([&] { return training->out().find("tail 2") != std::string::npos; }));
  const auto forked = bench_.run("trainer", {"--flor_from", "live@1", "--kwargs", "pause_ms=0"});
  EXPECT_EQ(forked.status, 0) << forked.err;
  ASSERT_TRUE(training->await([&] { return training->err().find("recorded live") != std::string::npos; }));
  EXPECT_EQ(epochs_from(forked.out, 2), epochs_from(training->out(), 2));
}

TEST_F(ForkTest, IsShownAndReplayedByWorkers) {
  const store::Run run = parent();
  ASSERT_EQ(fork("forked", run, 3, {"--kwargs", "rate=0.05"}).status, 0);
  const store::Run forked = bench_.last_run();
  const auto flor = [&](const Words& words) {
    return run_process(Words{FLOR_CLI} + words, bench_.options());
  };
  const std::string parent_key = run.key.substr(0, 8);
  EXPECT_THAT(flor({"show", forked.key}).out,
              HasSubstr(parent_key + "@3, of which epochs 0 to 3 are copied"));
  EXPECT_THAT(flor({"show", run.key}).out, HasSubstr(forked.key.substr(0, 8)));
  EXPECT_THAT(flor({"show", forked.key, "--json"}).out, HasSubstr(run.key));
  const auto replayed =
      flor({"replay", forked.key, "--workers", "2", "--", program("forked_hindsight").string()});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.out, HasSubstr("epochs 4..7"));
  EXPECT_THAT(replayed.out, HasSubstr("4 new values"));
  const auto copied = flor({"replay", forked.key, "--epochs", "2..5"});
  EXPECT_EQ(copied.status, 2);
  EXPECT_THAT(copied.err, HasSubstr("epochs 0 to 3 of this run are copied from run " + parent_key));
}

TEST_F(ForkTest, IsResumedAsAnyRun) {
  const auto uninterrupted = [&] {
    const store::Run run = parent();
    EXPECT_EQ(fork("forked", run, 2, {"--kwargs", "rate=0.05"}).status, 0);
    return record_of(bench_.last_run());
  }();
  const store::Run run = parent();
  const Words command{"--flor_from", at(run, 2), "--flor_resume", "auto", "--flor_every", "1",
                      "--kwargs", "rate=0.05"};
  for (const int signal : {SIGTERM, SIGKILL}) {
    auto options = bench_.options();
    const std::size_t before = bench_.run_count();
    int attempts = 0;
    ProcessResult result;
    do {
      options.environment["RAISE"] =
          std::to_string(signal) + ":" + std::to_string(7 * (attempts + 1));
      result = bench_.run("forked", command, options);
    } while (result.status != 0 && ++attempts < 20);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_GT(attempts, 1);
    EXPECT_EQ(bench_.run_count(), before + 1);
    EXPECT_EQ(record_of(bench_.last_run()).values, uninterrupted.values);
    EXPECT_EQ(origin(bench_.last_run())->parent, run.key);
  }
}

TEST_F(ForkTest, OutlivesItsParentAndANewIndex) {
  const store::Run run = parent();
  ASSERT_EQ(fork("forked", run, 3).status, 0);
  const store::Run forked = bench_.last_run();
  const WholeRecord before = record_of(forked);
  bench_.store()->catalog().drop_run(run.id);
  store::collect(*bench_.store(), false);
  EXPECT_EQ(record_of(forked), before);
  std::filesystem::remove(bench_.home() / "catalog.db");
  const auto again = bench_.store();
  ASSERT_EQ(again->catalog().runs().size(), 1U);
  EXPECT_EQ(whole_record(*again, again->catalog().runs().at(0).id), before);
  EXPECT_EQ(again->catalog().fork(again->catalog().runs().at(0).id)->epoch, 4);
  EXPECT_THAT(bench_.damage(), IsEmpty());
  const auto replayed = bench_.replay("forked", {"--flor_run", forked.key, "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

TEST_F(ForkTest, AForkOfTheLastEpochTakesLittleMoreThanItsFacts) {
  const store::Run run = parent();
  const auto size = [&] {
    std::uintmax_t bytes = 0;
    for (const char* part : {"runs", "packs"}) {
      for (const auto& file :
           std::filesystem::recursive_directory_iterator(bench_.home() / part)) {
        if (file.is_regular_file()) bytes += file.file_size();
      }
    }
    return bytes;
  };
  const std::uintmax_t before = size();
  constexpr int kForks = 10;
  const Words quiet{"--flor_output", "none"};
  for (int i = 0; i < kForks; ++i) ASSERT_EQ(fork("forked", run, 7, quiet).status, 0);
  const double each = static_cast<double>(size() - before) / kForks;
  std::printf("a fork of the last of 8 epochs takes %.0f bytes\n", each);
  EXPECT_LT(each, 16e3);
}

TEST_F(ForkTest, OfWhatIsNotThereSaysWhatIs) {
  const store::Run run = parent({"--flor_every", "3"});
  const auto missing = fork("forked", run, 3);
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("the state after epoch 3 of run " + run.key.substr(0, 8) +
                                     " is not stored; the nearest ones: --flor_from "));
  const auto beyond = fork("forked", run, 50);
  EXPECT_EQ(beyond.status, 3);
  EXPECT_THAT(beyond.err, HasSubstr("has no epoch 50: its epochs are 0..7"));
  EXPECT_EQ(bench_.run("forked", {"--flor_from", "ffffffff@1"}).status, 3);
  EXPECT_EQ(bench_.run("forked", {"--flor_from", at(run, 2), "--flor_resume"}).status, 2);
  EXPECT_EQ(bench_.run("forked", {"--flor_from", at(run, 2), "--replay_flor"}).status, 2);
  EXPECT_EQ(bench_.run_count(), 1U);
}

}  // namespace
}  // namespace flor::testing::fork_test
