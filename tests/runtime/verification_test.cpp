// Which epochs are executed to verify a replay, and how what they find is compared with it.
#include "protocol/verification.h"

#include "index/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flor::detail {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Each epoch begins at a stored boundary.
EpochTimes stored_everywhere(const std::vector<double>& seconds) {
  return {.seconds = seconds, .with_way = seconds};
}

std::string epochs_of(const VerifyPlan& plan) { return print_epochs(plan.epochs); }

TEST(VerifyPlan, TakesTheCheapestOfTheEpochsWithNewValues) {
  const auto times = stored_everywhere({9, 40, 3, 30, 1});
  const VerifyPlan plan = plan_verification(times, {1, 3}, {.count = 1, .all = false}, 0);
  EXPECT_EQ(epochs_of(plan), "epoch 3");
  EXPECT_EQ(plan.seconds, 30);
  EXPECT_FALSE(plan.too_long);
}

TEST(VerifyPlan, CountsTheWayFromTheBoundaryBefore) {
  const EpochTimes times{.seconds = {10, 10, 10, 25}, .with_way = {10, 20, 30, 25}};
  EXPECT_EQ(epochs_of(plan_verification(times, {2, 3}, {.count = 1, .all = false}, 0)), "epoch 3");
  EXPECT_EQ(epochs_of(plan_verification(times, {1, 3}, {.count = 1, .all = false}, 0)), "epoch 1");
}

TEST(VerifyPlan, TakesTheEpochBeforeTooWhereThereIsTime) {
  EXPECT_EQ(epochs_of(plan_verification(stored_everywhere({8, 7, 9}), {0, 1, 2}, {}, 0)),
            "epochs 0 to 1");
  EXPECT_EQ(epochs_of(plan_verification(stored_everywhere({50, 30, 70}), {0, 1, 2}, {}, 0)),
            "epoch 1");
}

TEST(VerifyPlan, IsTooLongBeyondAMinuteAndBeyondTheReplay) {
  const auto times = stored_everywhere({90, 80});
  EXPECT_TRUE(plan_verification(times, {0, 1}, {}, 5).too_long);
  EXPECT_FALSE(plan_verification(times, {0, 1}, {}, 85).too_long);
  EXPECT_FALSE(plan_verification(times, {0, 1}, {.count = 1, .all = false}, 5).too_long);
  EXPECT_FALSE(plan_verification(times, {0, 1}, {.count = {}, .all = true}, 5).too_long);
  EXPECT_FALSE(plan_verification(stored_everywhere({55, 99}), {0, 1}, {}, 0).too_long);
}

TEST(VerifyPlan, OfAllTakesAllAndOfNoneNone) {
  const auto times = stored_everywhere({1, 2, 3});
  EXPECT_EQ(epochs_of(plan_verification(times, {0, 1, 2}, {.count = {}, .all = true}, 0)),
            "epochs 0 to 2");
  EXPECT_THAT(plan_verification(times, {0, 1, 2}, {.count = 0, .all = false}, 0).epochs, IsEmpty());
  EXPECT_THAT(plan_verification(times, {}, {}, 0).epochs, IsEmpty());
}

TEST(VerifyingNotice, IsGivenOnlyWhereOneWouldWait) {
  VerifyPlan plan{.epochs = {{3, 4}}, .seconds = 2};
  EXPECT_EQ(verifying_notice(plan), "");
  plan.seconds = 41;
  EXPECT_THAT(verifying_notice(plan), HasSubstr("epoch 3 to verify the new values, about 41 s"));
}

store::Value value(std::string path, std::int64_t iteration, double number) {
  return {.name = "x",
          .place = {std::move(path), 0, iteration, ""},
          .type = store::ValueType::real,
          .value = number};
}

TEST(Disagreement, IsAnyOtherBitAndAnyValueThatOneWayLacks) {
  const std::vector<store::Value> skipped{value("epoch", -1, 0.1)};
  EXPECT_EQ(first_disagreement(skipped, skipped), "");
  EXPECT_THAT(first_disagreement(skipped, {value("epoch", -1, std::nextafter(0.1, 1))}),
              HasSubstr("0.10000000000000002 when executed, 0.1 the skipped way"));
  EXPECT_THAT(first_disagreement(skipped, {}), HasSubstr("nothing when executed"));
  EXPECT_THAT(first_disagreement({}, skipped), HasSubstr("nothing the skipped way"));
}

TEST(Disagreement, IsNotWhatOnlyTheExecutedLoopLogs) {
  const std::vector<store::Value> skipped{value("epoch", -1, 0.1)};
  EXPECT_EQ(first_disagreement(skipped, {value("epoch", -1, 0.1), value("epoch/train", 4, 2)}), "");
}

TEST(Verification, OfChosenStepsExecutesWholeEpochsAndAnswersTheSameSteps) {
  WorkerOrder all, chosen;
  chosen.steps = StepChoice::parse("last,0");
  const WorkerOrder order = WorkerOrder::decode(verifying_order(chosen, {"train"}).encode());
  EXPECT_TRUE(order.in_full);
  EXPECT_EQ(order.steps, chosen.steps);
  EXPECT_FALSE(WorkerOrder::decode(chosen.encode()).in_full);
  EXPECT_EQ(question_of("digest", {"x"}, chosen),
            store::question_of_steps(question_of("digest", {"x"}, all), "0,last"));
}

}  // namespace
}  // namespace flor::detail
