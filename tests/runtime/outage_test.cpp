// Faults of the store, by a clock of the test's own: pauses grow, gaps are named, nothing is said
// twice.
#include "base/outage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace flor::detail {
namespace {

using std::chrono::milliseconds, std::chrono::seconds, std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Part = StorageHealth::Part;

class OutageTest : public ::testing::Test {
 protected:
  StorageHealth health() {
    return StorageHealth([this] { return now_; });
  }
  Outage::Time now_{seconds(1000)};
};

TEST_F(OutageTest, PausesGrowUpToTheLongest) {
  Outage outage;
  EXPECT_TRUE(outage.may_try(now_));
  std::vector<std::int64_t> pauses;
  for (int i = 0; i < 9; ++i) {
    outage.failed(now_);
    milliseconds pause(0);
    while (!outage.may_try(now_)) {
      now_ += milliseconds(50);
      pause += milliseconds(50);
    }
    pauses.push_back(pause.count());
  }
  EXPECT_THAT(pauses, ElementsAre(100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000));
  EXPECT_EQ(outage.succeeded(), Outage::Time(seconds(1000)));
  EXPECT_TRUE(outage.may_try(now_));
  outage.failed(now_);
  EXPECT_TRUE(outage.may_try(now_ + milliseconds(100))) << "the next outage begins anew";
}

TEST_F(OutageTest, ContentWaitsForRowsButRowsNotForContent) {
  StorageHealth store = health();
  store.failed(Part::content, "disk full");
  EXPECT_TRUE(store.may_try(Part::rows));
  EXPECT_FALSE(store.may_try(Part::content));
  now_ += milliseconds(100);
  EXPECT_TRUE(store.may_try(Part::content));
  store.failed(Part::rows, "disk full");
  EXPECT_FALSE(store.may_try(Part::rows));
  EXPECT_FALSE(store.may_try(Part::content)) << "it needs its rows";
  now_ += minutes(1);
  EXPECT_TRUE(store.may_try(Part::rows));
  EXPECT_TRUE(store.may_try(Part::content));
  EXPECT_EQ(store.succeeded(Part::rows), std::nullopt) << "content is still to be tried";
  EXPECT_TRUE(store.may_try(Part::content));
  EXPECT_DOUBLE_EQ(store.succeeded(Part::content).value(), 60.1);
  EXPECT_FALSE(store.lasts());
}

TEST_F(OutageTest, AnOutageThatComesBackSoonIsSaidOnce) {
  StorageHealth store = health();
  EXPECT_TRUE(store.failed(Part::content, "disk full"));
  EXPECT_FALSE(store.failed(Part::content, "disk full")) << "it lasts";
  now_ += seconds(1);
  EXPECT_TRUE(store.succeeded(Part::content));
  EXPECT_FALSE(store.failed(Part::content, "disk full")) << "a second later";
  EXPECT_EQ(store.succeeded(Part::content), std::nullopt) << "its beginning was not said";
  now_ += minutes(2);
  EXPECT_TRUE(store.failed(Part::rows, "disk full"));
}

TEST_F(OutageTest, SuccessWithoutAFailureIsNothing) {
  StorageHealth store = health();
  EXPECT_EQ(store.succeeded(Part::rows), std::nullopt);
  EXPECT_FALSE(store.lasts());
  EXPECT_EQ(store.unwritten_gaps(), std::nullopt);
}

TEST_F(OutageTest, GapsAreWrittenWhenTheyHaveChanged) {
  StorageHealth store = health();
  store.set_gaps({{2, 3, false, "before"}});
  EXPECT_EQ(store.unwritten_gaps(), std::nullopt);
  store.failed(Part::content, "disk full");
  store.miss(7);
  store.miss(8);
  const auto gaps = store.unwritten_gaps();
  ASSERT_TRUE(gaps);
  EXPECT_EQ(*gaps, (std::vector<store::Gap>{{2, 3, false, "before"}, {7, 8, false, "disk full"}}));
  store.written(*gaps);
  EXPECT_EQ(store.unwritten_gaps(), std::nullopt);
}

TEST_F(OutageTest, GapsThatGrowAreWrittenNowAndThenAndAtOnceWhenTheOutageIsOver) {
  StorageHealth store = health();
  EXPECT_FALSE(store.gaps_are_due()) << "there are none";
  store.failed(Part::content, "disk full");
  std::vector<std::int64_t> written_at;
  for (std::int64_t second = 0; second < 35; ++second, now_ += seconds(1)) {
    store.miss(second);
    if (!store.gaps_are_due()) continue;
    written_at.push_back(second);
    store.written(*store.unwritten_gaps());
    EXPECT_FALSE(store.gaps_are_due());
  }
  EXPECT_THAT(written_at, ElementsAre(0, 10, 20, 30));
  store.succeeded(Part::content);
  EXPECT_TRUE(store.gaps_are_due());
  store.written(*store.unwritten_gaps());
  EXPECT_FALSE(store.gaps_are_due());
}

TEST(Gaps, WhatTouchesIsOneAndLostValuesStandApart) {
  Gaps gaps;
  for (const std::int64_t epoch : {5, 6, 9, 7, 4, 12}) gaps.add(epoch, false, "full");
  EXPECT_EQ(gaps.all(), (std::vector<store::Gap>{{4, 7, false, "full"},
                                                 {9, 9, false, "full"},
                                                 {12, 12, false, "full"}}));
  EXPECT_EQ(store::print_gaps(gaps.all()), "epochs 4..7, 9, 12 not stored");
  gaps.add(6, true, "lost");
  gaps.add(8, false, "full");
  EXPECT_EQ(gaps.all(), (std::vector<store::Gap>{{4, 5, false, "full"},
                                                 {6, 6, true, "lost"},
                                                 {7, 9, false, "full"},
                                                 {12, 12, false, "full"}}));
  EXPECT_EQ(store::print_gaps(gaps.all()), "epochs 4..9, 12 not stored; values of epoch 6 lost");
}

TEST(Gaps, AreNamedInOneLine) {
  using store::print_gaps;
  EXPECT_EQ(print_gaps({}), "");
  const auto text = [](std::vector<store::Gap> gaps) { return print_gaps(gaps); };
  EXPECT_EQ(text({{17, 19, false, ""}}), "epochs 17..19 not stored");
  EXPECT_EQ(text({{3, 3, false, ""}}), "epoch 3 not stored");
  EXPECT_EQ(text({{-1, -1, true, ""}}), "values outside of its loops lost");
  EXPECT_EQ(text({{0, 0, false, ""}, {2, 2, false, ""}, {4, 4, false, ""}, {6, 6, false, ""},
                  {8, 8, false, ""}, {10, 11, false, ""}}),
            "epochs 0, 2, 4, 6 and 2 more not stored");
}

/// Whatever comes in whatever order: the gaps are what a set of epochs says, sorted and disjoint.
TEST(GapsProperty, AreTheEpochsThatWereMissed) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Gaps gaps;
    std::set<std::int64_t> missed, lost;
    for (int i = 0; i < 40; ++i) {
      const std::int64_t epoch = std::uniform_int_distribution<>(0, 30)(random);
      const bool values = random() % 4 == 0;
      gaps.add(epoch, values, "why");
      missed.insert(epoch);
      if (values) lost.insert(epoch);
    }
    std::set<std::int64_t> named, named_lost;
    std::int64_t last = -1;
    for (const store::Gap& gap : gaps.all()) {
      ASSERT_LE(gap.first, gap.last);
      ASSERT_GT(gap.first, last);
      last = gap.last;
      for (std::int64_t epoch = gap.first; epoch <= gap.last; ++epoch) {
        named.insert(epoch);
        if (gap.values) named_lost.insert(epoch);
      }
    }
    ASSERT_EQ(named, missed);
    ASSERT_EQ(named_lost, lost);
  }
}

}  // namespace
}  // namespace flor::detail
