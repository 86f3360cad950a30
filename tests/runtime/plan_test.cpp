// Which epochs a segment replays and where it starts.
#include "protocol/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace flor::detail {
namespace {

TEST(Plan, PidNineOfTwoHundredIsTheTenthEpoch) {
  EXPECT_EQ(segment_of(200, 9, 200), (Epochs{9, 10}));
}

TEST(Plan, LargerSegmentsComeFirst) {
  EXPECT_EQ(segment_of(8, 0, 3), (Epochs{0, 3}));
  EXPECT_EQ(segment_of(8, 1, 3), (Epochs{3, 6}));
  EXPECT_EQ(segment_of(8, 2, 3), (Epochs{6, 8}));
}

TEST(Plan, SegmentsBeyondTheEpochsAreEmpty) {
  EXPECT_EQ(segment_of(2, 1, 4), (Epochs{1, 2}));
  EXPECT_TRUE(segment_of(2, 2, 4).empty());
  EXPECT_TRUE(segment_of(2, 3, 4).empty());
  EXPECT_TRUE(segment_of(0, 0, 1).empty());
}

TEST(Plan, UnionOfTheSegmentsCoversEachEpochOnceInOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto epochs = *rc::gen::inRange<std::int64_t>(0, 300);
    const auto segments = *rc::gen::inRange<std::int64_t>(1, 320);
    std::int64_t next = 0, least = epochs, most = 0;
    for (std::int64_t pid = 0; pid < segments; ++pid) {
      const Epochs segment = segment_of(epochs, pid, segments);
      RC_ASSERT(segment.first == next);
      RC_ASSERT(segment.count() >= 0);
      RC_ASSERT(pid == 0 || segment.count() <= segment_of(epochs, pid - 1, segments).count());
      next = segment.end;
      least = std::min(least, segment.count());
      most = std::max(most, segment.count());
    }
    RC_ASSERT(next == epochs);
    RC_ASSERT(most - least <= 1);
  }));
}

TEST(Plan, SeveralMainLoopsShareOutTheSameEpochs) {
  EXPECT_TRUE(rc::check([] {
    const auto lengths =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 12));
    std::int64_t epochs = 0;
    for (const std::int64_t length : lengths) epochs += length;
    const auto segments = *rc::gen::inRange<std::int64_t>(1, 20);
    std::vector<int> visits(static_cast<std::size_t>(epochs));
    for (std::int64_t pid = 0; pid < segments; ++pid) {
      const Epochs segment = segment_of(epochs, pid, segments);
      std::int64_t first = 0;
      for (const std::int64_t length : lengths) {
        const Epochs part = part_of_loop(segment, first, length);
        RC_ASSERT(part.empty() || (part.first >= 0 && part.end <= length));
        for (auto i = part.first; i < part.end; ++i) ++visits[static_cast<std::size_t>(first + i)];
        first += length;
      }
    }
    for (const int count : visits) RC_ASSERT(count == 1);
  }));
}

TEST(Plan, AWeakStartIsTheNearestStoredBoundaryAndAStrongOneTheFirst) {
  const std::set<std::int64_t> stored{0, 3, 6};
  EXPECT_EQ(start_boundary(stored, 5, false), 3);
  EXPECT_EQ(start_boundary(stored, 6, false), 6);
  EXPECT_EQ(start_boundary(stored, 2, false), 0);
  EXPECT_EQ(start_boundary(stored, 6, true), 0);
}

TEST(Plan, NeverStartsFromALaterBoundary) {
  EXPECT_EQ(start_boundary({4, 5}, 3, false), std::nullopt);
  EXPECT_EQ(start_boundary({4, 5}, 3, true), std::nullopt);
  EXPECT_EQ(start_boundary({}, 3, false), std::nullopt);
}

}  // namespace
}  // namespace flor::detail
