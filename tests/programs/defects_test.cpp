// The known defects of earlier record-replay systems that concern whole programs and are not
// covered beside the feature they belong to (loops_test, hindsight_test, lifecycle_test,
// usage_test, learner_test). The numbers are those of the regression list.
#include "support/sanitized.h"
#include "workbench.h"

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Defects : public ::testing::Test {
 protected:
  Workbench bench_;
};

// Defect 2: epochs without a checkpoint kept the state of an earlier one when they were skipped.
TEST_F(Defects, AnEpochWithoutACheckpointIsReExecutedRatherThanShownStale) {
  const auto recorded = bench_.record("trainer", {"--flor_every", "4", "--kwargs", "epochs=10"});
  const auto replayed = bench_.replay("trainer");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_with(replayed.out, {"tail"}), lines_with(recorded.out, {"tail"}));
  EXPECT_THAT(replayed.err, HasSubstr("skipped train 3 times; executed train 7 times"));
}

// Defect 8: using the library changed the random numbers of the program.
TEST_F(Defects, RandomNumbersOfTheProgramAreItsOwn) {
  const auto plain = bench_.run("lifecycle", {"random"});
  EXPECT_EQ(bench_.record("lifecycle", {"random"}).out, plain.out);
}

// Defect 9: with a fixed seed two runs had the same ids, and their values were mixed up.
TEST_F(Defects, SeededProgramsHaveDifferentRuns) {
  bench_.record("lifecycle", {"random"});
  bench_.record("lifecycle", {"random"});
  const auto runs = bench_.store()->catalog().runs();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NE(runs[0].key, runs[1].key);
  EXPECT_EQ(bench_.values("value").size(), 12u);
}

// Defect 13: the first run of a project lost everything it had logged.
TEST_F(Defects, TheFirstRunKeepsItsValues) {
  bench_.record("trainer");
  EXPECT_EQ(bench_.values("loss").size(), 24u);
  EXPECT_EQ(bench_.values("start").size(), 1u);
  EXPECT_EQ(bench_.values("end").size(), 1u);
}

// Defect 17: everything that lay around was committed, ignored files and data included.
TEST_F(Defects, IgnoredFilesAreNotCommitted) {
  bench_.repository().write(".gitignore", "data/\n*.key\n");
  bench_.repository().write("data/large.bin", std::string(1000, 'x'));
  bench_.repository().write("private.key", "secret");
  bench_.repository().write("model.cpp", "// half finished");
  bench_.record("trainer");
  const auto files =
      bench_.repository().run_git({"ls-tree", "-r", "--name-only", bench_.last_run().start.commit});
  EXPECT_THAT(files, HasSubstr("model.cpp"));
  EXPECT_THAT(files, Not(HasSubstr("large.bin")));
  EXPECT_THAT(files, Not(HasSubstr("private.key")));
}

// Defects 18 and 19: commits landed on the user's branch, and replay checked out other commits.
TEST_F(Defects, BranchIndexAndFilesOfTheUserAreNotTouched) {
  bench_.repository().write("staged.cpp", "// staged");
  bench_.repository().run_git({"add", "staged.cpp"});
  bench_.repository().write("staged.cpp", "// edited since");
  const auto look = [&] {
    return bench_.repository().run_git({"status", "--porcelain=v2", "--branch"}) +
           bench_.repository().run_git({"rev-parse", "HEAD"}) +
           bench_.repository().run_git({"stash", "list"}) +
           read_file(bench_.repository() / "staged.cpp");
  };
  const std::string before = look();
  bench_.record("trainer");
  EXPECT_EQ(look(), before);
  bench_.replay("trainer_hindsight");
  EXPECT_EQ(look(), before);
  EXPECT_EQ(bench_.repository().git_line({"rev-parse", "flor.shadow"}),
            bench_.last_run().start.commit);
}

// Defect 20: replay gave up when the sources had changed since.
TEST_F(Defects, AReplayWorksInAWorkTreeThatHasChanged) {
  bench_.record("trainer");
  bench_.repository().write("train.cpp", "int main() { return 2; }\n");
  bench_.repository().write("new.cpp", "");
  EXPECT_EQ(bench_.replay("trainer_hindsight").status, 0);
  bench_.repository().commit_all("on");
  EXPECT_EQ(bench_.replay("trainer_hindsight").status, 0);
}

// Defect 22: underscores in names, sub-directories and detached heads ended in bare assertions.
TEST_F(Defects, NamesAndPlacesOfTheRepositoryDoNotMatter) {
  auto options = bench_.options();
  bench_.repository().write("a_b_c/d_e/f.txt", "x");
  options.directory = bench_.repository() / "a_b_c/d_e";
  bench_.repository().run_git({"checkout", "-q", "--detach"});
  const auto recorded = bench_.run("trainer", {"--flor", "my_long_name_2"}, options);
  EXPECT_EQ(recorded.status, 0) << recorded.err;
  EXPECT_EQ(bench_.run("trainer", {"--replay_flor", "1/2"}, options).status, 0);
  EXPECT_EQ(bench_.last_run().start.commit.size(), 40u);
}

// Defect 22: elements that are no numbers, and ranges that cannot be indexed, crashed.
TEST_F(Defects, AnyRangeCanBeReplayedFromItsMiddle) {
  for (const char* scenario : {"words_in_a_list", "shuffled_main"}) {
    bench_.record("loops", {"--kwargs", std::string("scenario=") + scenario});
    EXPECT_EQ(bench_.replay("loops", {"2/3"}).status, 0) << scenario;
  }
}

// Defect 27: every checkpoint that was made or loaded stayed in memory until the end.
TEST_F(Defects, MemoryDoesNotGrowWithTheNumberOfCheckpoints) {
  // 16 MB of weights and velocity; ten epochs of them would be 160 MB.
  const Words kwargs{"--kwargs", "size=1000000", "epochs=10", "steps=1"};
  const long plain = bench_.run("trainer", kwargs).peak_kib;
  const auto recorded = bench_.record("trainer", kwargs);
  EXPECT_LT(recorded.peak_kib, plain + kMemoryFactor * 8 * 16 * 1024);
  const auto replayed = bench_.replay("trainer");
  EXPECT_EQ(replayed.status, 0);
  EXPECT_LT(replayed.peak_kib, plain + kMemoryFactor * 4 * 16 * 1024);
}

// Defect 28: the same job kept other checkpoints each time.
TEST_F(Defects, TheSameProgramStoresTheSameCheckpoints) {
  bench_.record("trainer", {"--flor_every", "2"});
  const auto first = bench_.checkpoints();
  for (int i = 0; i < 3; ++i) {
    bench_.record("trainer", {"--flor_every", "2"});
    EXPECT_EQ(bench_.checkpoints(), first);
  }
}

// Defect 29: the documentation said that PIDs count from 0 and the program counted from 1.
TEST_F(Defects, PidNineOfTwoHundredIsTheTenthEpoch) {
  const auto recorded = bench_.record("trainer", {"--kwargs", "epochs=200", "steps=1", "size=4"});
  const auto replayed = bench_.replay("trainer", {"9/200"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_with(replayed.out, {"tail"}), lines_with(recorded.out, {"tail 9 "}));
  EXPECT_THAT(replayed.err, HasSubstr("epoch 9 of 200 recorded epochs"));
}

}  // namespace
}  // namespace flor::testing
