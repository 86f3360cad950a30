// Which recordings the median rule ends.
#include "sweep/poor_runs.h"

#include <flor/store/error.h>

#include <gtest/gtest.h>

#include <limits>

namespace flor::cli::poor_runs_test {
namespace {

using store::ScoreOrder;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Means until epoch 2: 2, 4, 6; the median is 4.
const std::vector<MetricCourse> kOthers{{3, 1}, {5, 3, 0}, {7, 5}};

TEST(MedianRuleTest, TheBestUntilNowIsComparedWithTheMedianOfTheMeans) {
  EXPECT_FALSE(is_poor(kOthers, {9, 4}, ScoreOrder::min, 1));
  EXPECT_TRUE(is_poor(kOthers, {9, 4.1}, ScoreOrder::min, 1));
  EXPECT_FALSE(is_poor(kOthers, {3.9, 100}, ScoreOrder::min, 1));
  EXPECT_TRUE(is_poor(kOthers, {0, 3.9}, ScoreOrder::max, 1));
  EXPECT_FALSE(is_poor(kOthers, {0, 4}, ScoreOrder::max, 1));
}

TEST(MedianRuleTest, OfAnEvenNumberTheMedianLiesBetweenTheMiddleTwo) {
  const std::vector<MetricCourse> four{{1}, {2}, {4}, {9}};
  EXPECT_FALSE(is_poor(four, {3}, ScoreOrder::min, 1));
  EXPECT_TRUE(is_poor(four, {3.1}, ScoreOrder::min, 1));
}

TEST(MedianRuleTest, OthersCountOnlyAsFarAsTheRunItselfHasCome) {
  const std::vector<MetricCourse> others{{9, 0, 0}, {9, 0, 0}, {9, 0, 0}};
  EXPECT_FALSE(is_poor(others, {8}, ScoreOrder::min, 1));
  EXPECT_TRUE(is_poor(others, {8, 8}, ScoreOrder::min, 1));
}

TEST(MedianRuleTest, TooFewThatHaveComeAsFarJudgeNothing) {
  EXPECT_FALSE(is_poor(kOthers, {100, 100, 100}, ScoreOrder::min, 1));
  EXPECT_FALSE(is_poor({kOthers.data(), 2}, {100}, ScoreOrder::min, 1));
  EXPECT_FALSE(is_poor({}, {100}, ScoreOrder::min, 1));
}

TEST(MedianRuleTest, ARunHasItsFirstEpochsWhateverItLogs) {
  EXPECT_FALSE(is_poor(kOthers, {100, 100}, ScoreOrder::min, 3));
  EXPECT_TRUE(is_poor(kOthers, {100, 100}, ScoreOrder::min, 2));
  EXPECT_FALSE(is_poor(kOthers, {}, ScoreOrder::min, 0));
}

TEST(MedianRuleTest, WhatIsNoNumberIsWorseThanAnyNumber) {
  EXPECT_TRUE(is_poor(kOthers, {kNan, kNan}, ScoreOrder::min, 1));
  EXPECT_FALSE(is_poor(kOthers, {kNan, 1}, ScoreOrder::min, 1));
  const std::vector<MetricCourse> nothing{{kNan}, {kNan}, {kNan}};
  EXPECT_FALSE(is_poor(nothing, {kNan}, ScoreOrder::min, 1)) << "the metric may not be logged yet";
}

TEST(GoalTest, IsAMetricAndWhatIsGood) {
  EXPECT_EQ(Goal::parse("-m", "loss:min").metric, "loss");
  EXPECT_EQ(Goal::parse("-m", "a:b:max").text(), "a:b:max");
  EXPECT_EQ(Goal::parse("-m", "a:max").order, ScoreOrder::max);
  for (const char* text : {"loss", ":min", "loss:best", ""}) {
    EXPECT_THROW(Goal::parse("-m", text), UsageError) << text;
  }
}

}  // namespace
}  // namespace flor::cli::poor_runs_test
