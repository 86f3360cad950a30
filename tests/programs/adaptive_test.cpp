// What is stored when, in whole programs: checked by the books that recording keeps, not by the
// clock.
#include "support/sanitized.h"
#include "workbench.h"

namespace flor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kEpsilon = 1.0 / 15;

class AdaptiveRuns : public ::testing::Test {
 protected:
  store::Recording recording() const {
    const auto store = bench_.store();
    return store->catalog().recording(bench_.last_run().id).value();
  }
  std::vector<store::StorageDecision> decisions() const {
    const auto store = bench_.store();
    return store->catalog().decisions(bench_.last_run().id);
  }
  /// Every epoch has a reason, and what is stored is what the reasons say.
  void check_decisions(std::int64_t epochs) const {
    const std::set<std::string> stored = bench_.checkpoints();
    std::int64_t next = 0;
    for (const store::StorageDecision& decision : decisions()) {
      EXPECT_EQ(decision.first, next);
      for (std::int64_t i = decision.first; i <= decision.last; ++i) {
        const bool expected = store::is_stored(decision.reason);
        EXPECT_EQ(stored.contains("boundary 0/" + std::to_string(i + 1)), expected) << i;
        const bool whole = expected && decision.reason != store::StorageReason::end;
        EXPECT_EQ(stored.contains("train 0/" + std::to_string(i)), whole) << i;
      }
      next = decision.last + 1;
    }
    EXPECT_EQ(next, epochs);
    EXPECT_TRUE(stored.contains("boundary 0/0"));
    EXPECT_TRUE(stored.contains("boundary 0/" + std::to_string(epochs)));
  }
  /// Within the tolerance, but for the last checkpoint, which may have cost more than expected.
  static void expect_within(const store::Recording& recording, double epsilon) {
    EXPECT_LE(recording.cost, epsilon * recording.computed + recording.materialization)
        << "computed " << recording.computed << " s, stored " << recording.stored;
  }
  Words adaptive(const Words& kwargs, const std::string& epsilon) const {
    return Words{"--flor", "test", "--flor_epsilon", epsilon, "--kwargs"} + kwargs;
  }

  Workbench bench_;
};

TEST_F(AdaptiveRuns, ShortEpochsOfALargeStateStayWithinTheTolerance) {
  const auto result = bench_.run(
      "paced", {"--flor", "test", "--kwargs", "epochs=1000", "work=1000", "mib=100", "quiet=true"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("recorded test as run "));
  EXPECT_THAT(result.err, HasSubstr(", overhead "));
  const store::Recording recorded = recording();
  expect_within(recorded, kEpsilon);
  EXPECT_EQ(recorded.iterations, 1000);
  EXPECT_LT(recorded.stored, 100);
  EXPECT_GT(recorded.forced, 0);
  check_decisions(1000);
}

TEST_F(AdaptiveRuns, AResumedRunLearnsAgainWhatStoringCostsAndGoesOnStoring) {
  constexpr int kPreempted = 75;
  auto options = bench_.options();
  options.environment["RAISE"] = "15:6";  // SIGTERM in the second epoch
  const auto first = bench_.run("trainer", adaptive({"epochs=40", "pause_ms=20"}, "20"), options);
  ASSERT_EQ(first.status, kPreempted) << first.err;
  const auto resumed = bench_.run("trainer", {"--flor", "test", "--flor_resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  const auto found = decisions();
  EXPECT_EQ(
      std::ranges::count(found, store::StorageReason::measured, &store::StorageDecision::reason),
      1);
  // How long nobody knows depends on how busy the machine is, but it comes to an end.
  EXPECT_NE(found[found.size() - 2].reason, store::StorageReason::unmeasured);
  EXPECT_GT(recording().materialization, 0);
}

TEST_F(AdaptiveRuns, LongEpochsOfASmallStateAreAllStored) {
  const auto result = bench_.run("paced", {"--flor", "test", "--flor_epsilon", "20", "--kwargs",
                                           "epochs=12", "work=40000", "mib=1"});
  ASSERT_EQ(result.status, 0) << result.err;
  check_decisions(12);
  // The first ones may come before anybody knows what they cost, or while the writer is late.
  for (const store::StorageDecision& decision : decisions()) {
    EXPECT_THAT((std::set{store::StorageReason::worthwhile, store::StorageReason::last,
                          store::StorageReason::unmeasured, store::StorageReason::late}),
                ::testing::Contains(decision.reason));
  }
}

TEST_F(AdaptiveRuns, WithAToleranceOfZeroOnlyTheFirstAndTheLastStateAreStored) {
  const auto result = bench_.run("paced", adaptive({"epochs=10"}, "0"));
  ASSERT_EQ(result.status, 0) << result.err;
  const std::set<std::string> expected{"boundary 0/0", "boundary 0/10", "train 0/9"};
  EXPECT_EQ(bench_.checkpoints(), expected);
  check_decisions(10);
}

TEST_F(AdaptiveRuns, EveryNthIsStoredWhateverItCosts) {
  bench_.record("paced", {"--flor_every", "3", "--kwargs", "epochs=8", "work=1"});
  const auto found = decisions();
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].reason, store::StorageReason::not_every);
  EXPECT_EQ(found[1].reason, store::StorageReason::every);
  EXPECT_EQ(found[5].reason, store::StorageReason::last);
  check_decisions(8);
}

TEST_F(AdaptiveRuns, TheEndOfALoopThatIsLeftEarlyIsStored) {
  const auto result = bench_.run(
      "loops", {"--flor", "test", "--flor_epsilon", "0", "--kwargs", "scenario=break_main"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto found = decisions();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].reason, store::StorageReason::budget);
  EXPECT_EQ(found[1].reason, store::StorageReason::end);
  EXPECT_EQ(found[1].first, 4);
  check_decisions(5);
}

TEST_F(AdaptiveRuns, WhatIsNotStoredIsReexecutedOnceAndSilently) {
  const auto recorded =
      bench_.run("trainer", adaptive({"size=100000", "epochs=24", "steps=2"}, "0.4"));
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  check_decisions(24);
  const auto losses = bench_.values("loss").size();
  for (const std::string segment : {"0/3", "1/3", "2/3"}) {
    const auto result =
        bench_.run("trainer_inner", {"--replay_flor", segment, "--flor_probe", "train"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("verified: "));
  }
  EXPECT_EQ(bench_.values("loss").size(), losses);
  EXPECT_EQ(bench_.values("norm").size(), 24u);
  EXPECT_EQ(bench_.values("weight0").size(), 48u);
  EXPECT_GT(bench_.store()->catalog().restore_rate().value_or(0), 0);
}

TEST_F(AdaptiveRuns, ACheckpointAtEveryStepHurriesTheWriterInBoundedMemory) {
  constexpr long kMib = 50;
  auto options = bench_.options();
  options.environment["FLOR_LOG"] = "debug";
  options.timeout = std::chrono::minutes(3);
  const auto result = bench_.run("paced",
                                 {"--flor", "test", "--flor_every", "1", "--kwargs", "epochs=25",
                                  "work=1", "mib=50", "nested=false"},
                                 options);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the writer is late: normal priority"));
  EXPECT_THAT(result.err, HasSubstr("the writer is late: a cheaper codec"));
  const store::Recording recorded = recording();
  EXPECT_GE(recorded.hurried, 1);
  EXPECT_GE(recorded.fast, 1);
  EXPECT_EQ(recorded.stored, 25);
  EXPECT_EQ(bench_.checkpoints().size(), 26u);
  // The program's own state, three in snapshots, and what the libraries and the writer take.
  EXPECT_LT(result.peak_kib / 1024, kMemoryFactor * (4 * kMib + kMib + 100));
  EXPECT_THAT(bench_.damage(), IsEmpty());
  for (const std::string share : {"0/5", "2/5", "4/5"}) {
    const auto replayed = bench_.replay("paced", {share});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: ")) << replayed.err;
  }
}

}  // namespace
}  // namespace flor::testing
