// The way through an epoch, against the recorded one.
#include "replay/epoch_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::set<std::string> kKnown{"train", "test"};

TEST(EpochPath, SaysWhichLoopsTheReplayDidNotComeTo) {
  EpochPath path;
  path.begin();
  path.meet("train");
  EXPECT_THAT(path.differences({"test", "train"}, kKnown, 3),
              ElementsAre("epoch 3: the record executed test, the replay did not come to it"));
}

TEST(EpochPath, SaysWhichRecordedLoopsCameTooOften) {
  EpochPath path;
  path.begin();
  for (const char* loop : {"train", "train~2", "new"}) path.meet(loop);
  EXPECT_THAT(path.differences({"train"}, kKnown, 0),
              ElementsAre("epoch 0: the replay came to train~2, which the record did not execute "
                          "there"))
      << "a loop that is new is no difference";
}

TEST(EpochPath, DoesNotCountALoopThatAnExceptionLeft) {
  EpochPath path;
  path.begin();
  path.meet("train");
  path.forget("train");
  EXPECT_THAT(path.differences({}, kKnown, 0), IsEmpty());
}

/// All ways through an epoch of two loops, recorded and replayed: a difference for each loop that
/// is in one of them alone.
TEST(EpochPath, HasOneDifferenceForEachLoopThatIsInOneWayAlone) {
  const std::vector<std::string> loops{"train", "train~2", "test"};
  for (unsigned recorded = 0; recorded < 8; ++recorded) {
    for (unsigned replayed = 0; replayed < 8; ++replayed) {
      EpochPath path;
      path.begin();
      std::set<std::string> record;
      for (unsigned i = 0; i < 3; ++i) {
        if ((recorded >> i & 1) != 0) record.insert(loops[i]);
        if ((replayed >> i & 1) != 0) path.meet(loops[i]);
      }
      const auto expected = static_cast<std::size_t>(__builtin_popcount(recorded ^ replayed));
      EXPECT_EQ(path.differences(record, kKnown, 1).size(), expected);
    }
  }
}

TEST(EpochPath, IsWholeUntilALoopIsSkipped) {
  EpochPath path;
  path.begin();
  path.leave("train", true);
  EXPECT_TRUE(path.is_whole());
  path.leave("test", false);
  EXPECT_FALSE(path.is_whole());
  EXPECT_THAT(path.executed(), ElementsAre(Pair("train", kAllSteps)));
  path.begin();
  EXPECT_TRUE(path.is_whole()) << "of this epoch";
  EXPECT_TRUE(path.ever_skipped()) << "of all";
  EXPECT_THAT(path.executed(), IsEmpty());
}

TEST(EpochPath, IsNotWholeAfterALoopThatWasLeftEarly) {
  EpochPath path;
  path.begin();
  path.leave_early("train", 12);
  EXPECT_FALSE(path.is_whole());
  EXPECT_TRUE(path.ever_skipped());
  EXPECT_THAT(path.executed(), ElementsAre(Pair("train", 12)));
  EXPECT_TRUE(path.is_whole_in_loops()) << "in what was executed of train";
  path.leave("test", false);
  EXPECT_TRUE(path.is_whole_in_loops());
  path.leave("check", true);
  EXPECT_FALSE(path.is_whole_in_loops());
}

TEST(EpochPath, BeginsEachEpochWithComputedState) {
  EpochPath path;
  EXPECT_TRUE(path.computed());
  path.begin();
  path.set_computed(false);
  EXPECT_FALSE(path.computed());
  path.begin();
  EXPECT_TRUE(path.computed());
}

}  // namespace
}  // namespace flor::detail
