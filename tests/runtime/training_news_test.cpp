// What a recording tells of the training itself.
#include "record/training_news.h"

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
