// What a recording tells of the training itself.
#include "record/training_news.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flor::detail {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty, ::testing::Optional;

const double kNan = std::nan("");

TEST(LongEpochs, SayNothingOfEpochsUnderAMinute) {
  LongEpochs epochs;
  for (std::int64_t i = 0; i < 1000; ++i)
    EXPECT_EQ(epochs.completed(i, i + 1, 1000, 59.9), std::nullopt);
}

TEST(LongEpochs, SayHowLongTheOthersTakeByTheMeanOfThoseThatAreDone) {
  LongEpochs epochs;
  EXPECT_THAT(epochs.completed(0, 1, 8, 250),
              Optional(std::string(
                  "epoch 0 took 4 min 10 s; 1 of 8 are done, the others take about 29 min 10 s")));
}

TEST(LongEpochs, AreSaidOnceInTenMinutes) {
  LongEpochs epochs;
  int lines = 0;
  for (std::int64_t i = 0; i < 100; ++i) lines += epochs.completed(i, i + 1, 100, 60).has_value();
  EXPECT_EQ(lines, 10);
}

TEST(LongEpochs, WithoutACountSayOnlyHowLongTheyTook) {
  LongEpochs epochs;
  EXPECT_THAT(epochs.completed(3, 4, -1, 3600), Optional(std::string("epoch 3 took 1 h 0 min")));
}

TEST(LongEpochs, TheLastOneLeavesNothing) {
  LongEpochs epochs;
  EXPECT_THAT(epochs.completed(7, 8, 8, 61), Optional(std::string("epoch 7 took 1 min 1 s")));
}

LongEpochs::Time at(double minutes) {
  return LongEpochs::Time(std::chrono::milliseconds(static_cast<std::int64_t>(minutes * 60'000)));
}

TEST(LongEpochs, SayWhereAnEpochIsAtTwoTenAndSixtyMinutesAndEachHour) {
  LongEpochs epochs;
  EXPECT_EQ(epochs.running(at(0)), std::nullopt) << "before the first epoch";
  epochs.begin(0, at(0));
  epochs.enter("train");
  epochs.step(813);
  std::vector<std::string> lines;
  for (double minutes = 0; minutes < 200; minutes += 0.5) {
    if (const auto line = epochs.running(at(minutes))) {
      lines.push_back(fmt::format("{}: {}", minutes, *line));
    }
  }
  EXPECT_THAT(lines, ElementsAre("2: epoch 0 has taken 2 min, step 813 of train",
                                 "10: epoch 0 has taken 10 min, step 813 of train",
                                 "60: epoch 0 has taken 1 h, step 813 of train",
                                 "120: epoch 0 has taken 2 h, step 813 of train",
                                 "180: epoch 0 has taken 3 h, step 813 of train"));
}

TEST(LongEpochs, SayOneLineOfAllMarksThatPassedWhileNobodyAsked) {
  LongEpochs epochs;
  epochs.begin(0, at(0));
  EXPECT_EQ(epochs.running(at(61)), "epoch 0 has taken 1 h");
  EXPECT_EQ(epochs.running(at(62)), std::nullopt);
}

TEST(LongEpochs, NameNoStepBetweenNestedLoopsAndBeginTheNextOneAtZero) {
  LongEpochs epochs;
  epochs.begin(7, at(0));
  epochs.enter("train");
  epochs.step(900);
  epochs.enter({});
  EXPECT_EQ(epochs.running(at(2)), "epoch 7 has taken 2 min");
  epochs.enter("test");
  EXPECT_EQ(epochs.running(at(10)), "epoch 7 has taken 10 min, step 0 of test");
}

TEST(LongEpochs, AreQuietOutsideOfEpochs) {
  LongEpochs epochs;
  epochs.begin(0, at(0));
  epochs.completed(0, 1, 2, 30);
  EXPECT_EQ(epochs.running(at(30)), std::nullopt) << "the program is between two loops";
  epochs.begin(1, at(30));
  epochs.end();
  EXPECT_EQ(epochs.running(at(60)), std::nullopt) << "the loop was left by an exception";
}

TEST(LongEpochs, OfThreeMinutesHaveFewLinesWhileTheyRunAndOfAnHourTheirMarks) {
  LongEpochs epochs;
  int lines = 0;
  for (int i = 0; i < 20; ++i) {
    epochs.begin(i, at(3 * i));
    lines += epochs.running(at(3 * i + 2)).has_value();
    epochs.completed(i, i + 1, 20, 180);
  }
  EXPECT_EQ(lines, 5) << "at most one in ten minutes";
  epochs.begin(20, at(60));
  EXPECT_EQ(epochs.running(at(70)), "epoch 20 has taken 10 min");
}

TEST(NanWatch, SaysThatAWholeEpochWasNanOnce) {
  NanWatch watch;
  EXPECT_EQ(watch.note(1, "loss", 0, 0.5), std::nullopt);
  EXPECT_EQ(watch.note(1, "loss", 1, 0.25), std::nullopt);
  EXPECT_EQ(watch.note(1, "loss", 1, kNan), std::nullopt);  // from inside epoch 1 on
  EXPECT_EQ(watch.note(1, "loss", 2, kNan), std::nullopt);
  EXPECT_EQ(watch.note(1, "loss", 2, kNan), std::nullopt);
  EXPECT_THAT(watch.note(1, "loss", 3, kNan),
              Optional(std::string(
                  "loss was NaN in all of epoch 2: the training goes on, and is recorded")));
  EXPECT_EQ(watch.note(1, "loss", 4, kNan), std::nullopt);
  EXPECT_THAT(watch.at_end(), ElementsAre("loss is NaN since epoch 2"));
}

TEST(NanWatch, IsCalmAboutNanAmongNumbers) {
  NanWatch watch;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    EXPECT_EQ(watch.note(1, "auc", epoch, kNan), std::nullopt);
    EXPECT_EQ(watch.note(1, "auc", epoch, 0.5), std::nullopt);
  }
  EXPECT_THAT(watch.at_end(), IsEmpty());
}

TEST(NanWatch, TellsEachMetricByItself) {
  NanWatch watch;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    watch.note(1, "loss", epoch, -kNan);
    watch.note(2, "accuracy", epoch, 0.1);
    watch.note(3, "recovers", epoch, epoch == 0 ? kNan : 1);
  }
  watch.note(4, "outside", -1, kNan);
  EXPECT_THAT(watch.at_end(), ElementsAre("loss was never a number: it is NaN in all epochs"));
}

TEST(NanWatch, TellsAgainWhenAMetricRecoveredInBetween) {
  NanWatch watch;
  int lines = 0;
  for (std::int64_t epoch = 0; epoch < 9; ++epoch) {
    lines += watch.note(1, "loss", epoch, epoch == 4 ? 1 : kNan).has_value();
  }
  EXPECT_EQ(lines, 2);
  EXPECT_THAT(watch.at_end(), ElementsAre("loss is NaN since epoch 5"));
}

}  // namespace
}  // namespace flor::detail
