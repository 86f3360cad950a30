// Questions asked afterwards: a rebuilt program logs more than the recorded one did.
#include "trainer_test.h"

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

class Hindsight : public TrainerTest {
 protected:
  void SetUp() override { record(); }
};

// Defect 6: a value asked for after the training loop was taken one optimizer step too late.
TEST_F(Hindsight, AValueAfterTheTrainingLoopIsThatOfTheRecordedEpoch) {
  const auto replayed = bench_.replay("trainer_hindsight");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_TRUE(lines_with(replayed.out, {"step"}).empty()) << "the training was to be skipped";
  EXPECT_EQ(found("norm"), printed_norms());
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
}

TEST_F(Hindsight, AValueInsideTheTrainingLoopNeedsAProbe) {
  EXPECT_EQ(bench_.replay("trainer_inner").status, 0);
  EXPECT_TRUE(found("weight0").empty());
  const auto replayed = bench_.replay("trainer_inner", {"--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(found("weight0").size(), 6u * 4u);
  EXPECT_THAT(replayed.err, HasSubstr("stepping into train"));
}

TEST_F(Hindsight, SegmentsFindEachValueOnceAndTheSameAsTheWhole) {
  bench_.replay("trainer_inner", {"--flor_probe", "train"});
  std::map<std::string, std::vector<double>> whole;
  for (const char* name : {"weight0", "norm", "start_rate", "end_rate"}) whole[name] = found(name);
  EXPECT_EQ(whole["start_rate"].size(), 1u);
  EXPECT_EQ(whole["end_rate"].size(), 1u);
  for (const int count : {2, 3, 6, 8}) {
    Workbench other;
    other.record("trainer");
    replay_segments(other, "trainer_inner", {.count = count, .flags = {"--flor_probe", "train"}});
    for (const auto& [name, numbers] : whole) {
      std::vector<double> united;
      for (const auto& value : other.values(name, false)) united.push_back(real(value));
      EXPECT_EQ(united, numbers) << name << " in " << count << " segments";
    }
  }
}

TEST_F(Hindsight, WhatIsLoggedBeforeTheLoopsBelongsToTheFirstSegmentAndAfterThemToTheLast) {
  bench_.replay("trainer_hindsight", {"1/3"});
  EXPECT_TRUE(found("start_rate").empty());
  EXPECT_TRUE(found("end_rate").empty());
  bench_.replay("trainer_hindsight", {"0/3"});
  EXPECT_EQ(found("start_rate").size(), 1u);
  EXPECT_TRUE(found("end_rate").empty());
  bench_.replay("trainer_hindsight", {"2/3"});
  ASSERT_EQ(found("end_rate").size(), 1u);
  EXPECT_NEAR(found("end_rate")[0], 0.1 * std::pow(0.8, 6), 1e-12);
}

TEST_F(Hindsight, WhatFollowsTheLoopsSeesTheirRecordedEndAlsoInAnEarlySegment) {
  // Nothing of it is kept there, but the program must not run on a wrong state.
  const auto replayed = bench_.replay("trainer_hindsight", {"0/6"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
}

// Defect 10: each replay appended its rows to those of the replays before.
TEST_F(Hindsight, ReplayingAgainDoesNotRepeatValues) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench_.replay("trainer_hindsight").status, 0);
  EXPECT_EQ(found("norm"), printed_norms());
  EXPECT_EQ(bench_.replays().size(), 3u);
}

TEST_F(Hindsight, RecordedValuesStayAsTheyWere) {
  const auto before = bench_.values("mean");
  bench_.replay("trainer_inner", {"--flor_probe", "train"});
  const auto after = bench_.values("mean");
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(real(before[i]), real(after[i]));
    EXPECT_EQ(after[i].replay, 0);
  }
}

TEST_F(Hindsight, EachFoundValueKnowsTheReplayThatFoundIt) {
  bench_.replay("trainer_hindsight");
  const auto replays = bench_.replays();
  ASSERT_EQ(replays.size(), 1u);
  for (const auto& value : bench_.values("norm", false)) EXPECT_EQ(value.replay, replays[0].id);
  ASSERT_TRUE(replays[0].result.has_value());
  EXPECT_EQ(replays[0].result->verdict, store::Verdict::verified);
  EXPECT_EQ(replays[0].result->values_found, 6 + 2);
}

TEST_F(Hindsight, CodeThatDrawsRandomNumbersDoesNotDisturbTheEpochsAfterIt) {
  const auto replayed = bench_.replay("trainer_random", {"--flor_probe", "train"});
  EXPECT_EQ(found("sample").size(), 6u);
  EXPECT_EQ(lines_with(replayed.out, {"step"}), lines_with(recorded_.out, {"step"}));
}

TEST_F(Hindsight, ARunThatIsNamedIsReplayedRatherThanTheLatest) {
  const std::string first = bench_.last_run().key;
  bench_.record("trainer", {"--kwargs", "steps=2"});
  bench_.replay("trainer_hindsight", {"--flor_run", first.substr(0, 8)});
  const auto store = bench_.store();
  const auto values_of = [&](const std::string& run) {
    return store->catalog()
        .values({.run = store->catalog().resolve(run).id,
                 .names = {"norm"},
                 .first_epoch = -1,
                 .recorded = false})
        .size();
  };
  EXPECT_EQ(values_of(first), 6u);
  EXPECT_EQ(values_of("test"), 0u);
}

class Verdicts : public ::testing::Test {
 protected:
  std::string first_difference() const { return bench_.replays().back().result->first_difference; }
  Workbench bench_;
};

TEST_F(Verdicts, StateThatIsNotRegisteredIsNamedByWhatItChanges) {
  bench_.record("trainer", {"--kwargs", "forgotten=velocity"});
  const auto replayed = bench_.replay("trainer", {"1/2", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 7) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("DIFFERS FROM THE RECORD"));
  EXPECT_THAT(replayed.err, HasSubstr("differs: "));
  EXPECT_THAT(replayed.err, HasSubstr("not registered"));
  EXPECT_THAT(first_difference(), ::testing::AnyOf(HasSubstr("loss at epoch 3, train 1: recorded"),
                                                   HasSubstr("end of train, epoch 3: weights")));
}

TEST_F(Verdicts, EachForgottenPieceIsNoticed) {
  for (const char* piece : {"weights", "velocity", "rate", "engine"}) {
    bench_.record("trainer", {"--kwargs", std::string("forgotten=") + piece});
    EXPECT_EQ(bench_.replay("trainer", {"--flor_probe", "train"}).status, 0)
        << piece << ": from the start the program is the record";
    EXPECT_EQ(bench_.replay("trainer", {"1/2", "--flor_probe", "train"}).status, 7) << piece;
    // Walking there executes what follows the training loop, so the rate is right again.
    EXPECT_EQ(
        bench_.replay("trainer", {"1/2", "--flor_probe", "train", "--flor_init", "strong"}).status,
        std::string_view(piece) == "rate" ? 0 : 7)
        << piece;
  }
}

TEST_F(Verdicts, WhatCannotBeComparedIsUncheckedRatherThanExact) {
  bench_.record("lifecycle", {"silent"});
  const auto replayed = bench_.replay("lifecycle", {"silent"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("unverified: "));
  EXPECT_EQ(bench_.replays().back().result->verdict, store::Verdict::unverified);
}

TEST_F(Verdicts, AChangedComputationIsReportedWithBothValues) {
  bench_.record("lifecycle", {"plain"});
  const auto replayed = bench_.replay("lifecycle", {"other_values", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 7);
  EXPECT_THAT(replayed.err, HasSubstr("value at epoch 0, train 0: recorded "));
  EXPECT_THAT(replayed.err, HasSubstr(", replayed "));
}

TEST_F(Verdicts, AProgramThatLeavesItsLoopEarlierThanTheRecordDiffers) {
  bench_.record("lifecycle", {"plain"});
  const auto replayed = bench_.replay("lifecycle", {"stop"});
  EXPECT_EQ(replayed.status, 7);
  EXPECT_THAT(replayed.err, HasSubstr("only 2 of 4 epochs were visited"));
}

TEST_F(Verdicts, AProgramThatFailsWhileReplayingKeepsItsStatusAndIsNoExactReplay) {
  bench_.record("lifecycle", {"plain"});
  EXPECT_EQ(bench_.replay("lifecycle", {"exit"}).status, 3);
  EXPECT_EQ(bench_.replays().back().result->verdict, store::Verdict::failed);
}

TEST_F(Verdicts, EmptySegmentsSaySoAndSucceed) {
  bench_.record("trainer");
  const auto replayed = bench_.replay("trainer", {"7/8"});
  EXPECT_EQ(replayed.status, 0);
  EXPECT_EQ(replayed.out, "");
  EXPECT_THAT(replayed.err, HasSubstr("no epoch of 6 recorded epochs"));
  EXPECT_THAT(replayed.err, HasSubstr("nothing to do"));
}

TEST_F(Verdicts, TheFirstLineSaysWhatIsCovered) {
  bench_.record("trainer");
  const auto first_line = [&](const Words& arguments) {
    return lines_of(bench_.replay("trainer", arguments).err).at(0);
  };
  const std::string run = bench_.last_run().key.substr(0, 8);
  EXPECT_EQ(first_line({}),
            "flor: replaying run " + run + " of test: epochs 0 to 5 of 6 recorded epochs");
  EXPECT_THAT(first_line({"5/6"}), HasSubstr("epoch 5 of 6 recorded epochs (segment 5 of 6"));
  EXPECT_THAT(first_line({"1/2", "--flor_init", "strong"}), HasSubstr("from the start"));
}

}  // namespace
}  // namespace flor::testing
