// Which stored states stay so that walks to all others are short: few, and never too few.
#include "retention/walks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>

namespace flor::store {
namespace {

using ::testing::ElementsAre;
using Starts = std::set<std::int64_t>;

/// A loop of `count` iterations of a second each, of which every boundary is stored.
WalkedLoop even(std::int64_t count) {
  WalkedLoop loop;
  loop.seconds.assign(static_cast<std::size_t>(count), 1);
  for (std::int64_t i = 0; i <= count; ++i) loop.starts.insert(i);
  return loop;
}

/// Seconds from the nearest start to a boundary.
double walk(const WalkedLoop& loop, const Starts& starts, std::int64_t to) {
  double seconds = 0;
  for (auto i = *std::prev(starts.upper_bound(to)); i < to; ++i) {
    seconds += loop.seconds[static_cast<std::size_t>(i)];
  }
  return seconds;
}

/// Whether every boundary is reached in time, or as fast as with all starts.
bool is_enough(const WalkedLoop& loop, const Starts& starts, double within) {
  const auto end = static_cast<std::int64_t>(loop.seconds.size());
  for (std::int64_t to = *loop.starts.begin(); to <= end; ++to) {
    const double seconds = walk(loop, starts, to);
    if (seconds > within && seconds > walk(loop, loop.starts, to)) return false;
  }
  return true;
}

TEST(WalksTest, TheFirstAndTheLastAreEnoughWhereThereIsTime) {
  EXPECT_THAT(starts_of_walks(even(100), 1000), ElementsAre(0, 100));
  EXPECT_THAT(starts_of_walks(even(100), 99), ElementsAre(0, 100)) << "the last is there itself";
}

TEST(WalksTest, StartsAreAsFarApartAsTheTimeAllows) {
  EXPECT_THAT(starts_of_walks(even(10), 3), ElementsAre(0, 4, 8, 10));
  EXPECT_THAT(starts_of_walks(even(4), 0.5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(longest_walk(even(10), {0, 4, 8, 10}), 3);
}

TEST(WalksTest, WhatIsFarFromEveryStartIsReachedFromTheNearest) {
  WalkedLoop loop = even(10);
  loop.starts = {0, 6, 7, 10};
  EXPECT_THAT(starts_of_walks(loop, 2), ElementsAre(0, 6, 7, 10));
  EXPECT_THAT(starts_of_walks(loop, 3), ElementsAre(0, 6, 10));
}

TEST(WalksTest, ALoopWithoutStatesHasNoStarts) {
  EXPECT_TRUE(starts_of_walks({}, 1).empty());
  EXPECT_THAT(starts_of_walks({.seconds = {1, 1}, .starts = {0}, .stay = {}}, 1), ElementsAre(0));
}

TEST(WalksTest, TheLastIsAmongThoseThatAreSpread) {
  EXPECT_THAT(spread_over({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 5), ElementsAre(1, 3, 5, 7, 9));
  EXPECT_THAT(spread_over({2, 3, 9}, 1), ElementsAre(9));
  EXPECT_THAT(spread_over({2, 3}, 7), ElementsAre(2, 3));
  EXPECT_TRUE(spread_over({2, 3}, 0).empty());
}

/// Few enough starts that all choices of them can be tried.
WalkedLoop some_loop() {
  WalkedLoop loop;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) loop.seconds.push_back(*rc::gen::inRange(0, 5));
  loop.starts.insert(*rc::gen::inRange(0, 2));
  for (int i = 0; i <= count; ++i) {
    if (*rc::gen::inRange(0, 3) > 0) loop.starts.insert(i);
  }
  for (const std::int64_t start : loop.starts) {
    if (*rc::gen::inRange(0, 5) == 0) loop.stay.insert(start);
  }
  std::erase_if(loop.starts, [&](std::int64_t start) { return start > count; });
  std::erase_if(loop.stay, [&](std::int64_t start) { return start > count; });
  if (loop.starts.empty()) loop.starts.insert(0);
  return loop;
}

RC_GTEST_PROP(WalksTest, NoWalkIsTooLongAndNoStartIsTooMany, ()) {
  const WalkedLoop loop = some_loop();
  const double within = *rc::gen::inRange(0, 12);
  const Starts chosen = starts_of_walks(loop, within);
  RC_ASSERT(std::ranges::includes(loop.starts, chosen));
  RC_ASSERT(std::ranges::includes(chosen, loop.stay));
  RC_ASSERT(chosen.contains(*loop.starts.begin()) && chosen.contains(*loop.starts.rbegin()));
  RC_ASSERT(is_enough(loop, chosen, within));
  const std::vector<std::int64_t> all(loop.starts.begin(), loop.starts.end());
  for (std::size_t choice = 0; choice < std::size_t{1} << all.size(); ++choice) {
    Starts other;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((choice >> i & 1) != 0) other.insert(all[i]);
    }
    const bool has_ends = other.contains(all.front()) && other.contains(all.back());
    if (!has_ends || !std::ranges::includes(other, loop.stay)) continue;
    if (other.size() < chosen.size()) RC_ASSERT(!is_enough(loop, other, within));
  }
}

}  // namespace
}  // namespace flor::store
