// Which point of a sweep is recorded next, and which is given up.
#include "sweep/sweep_coordinator.h"

#include <gtest/gtest.h>

namespace flor::cli::queue_test {
namespace {

TEST(PointQueueTest, HandsOutEachOpenPointOnceInItsOrder) {
  PointQueue queue({2, 0, 5}, 3);
  EXPECT_EQ(queue.next(), 2u);
  EXPECT_EQ(queue.next(), 0u);
  EXPECT_EQ(queue.next(), 5u);
  EXPECT_FALSE(queue.next());
  EXPECT_FALSE(queue.is_empty());
  for (const std::size_t point : {0, 5, 2}) queue.done(point);
  EXPECT_TRUE(queue.is_empty());
}

TEST(PointQueueTest, OneThatEndedEarlyWaitsBehindTheOthers) {
  PointQueue queue({0, 1}, 3);
  queue.next();
  EXPECT_TRUE(queue.ended_early(0, 0));
  EXPECT_EQ(queue.next(), 1u);
  EXPECT_EQ(queue.next(), 0u);
}

TEST(PointQueueTest, OnlyOneThatDoesNotGetFurtherIsGivenUp) {
  PointQueue queue({0}, 2);
  const auto ends = [&](std::int64_t epochs) {
    EXPECT_EQ(queue.next(), 0u);
    return queue.ended_early(0, epochs);
  };
  for (std::int64_t epochs = 1; epochs < 20; ++epochs) EXPECT_TRUE(ends(epochs)) << epochs;
  EXPECT_TRUE(ends(19));
  EXPECT_TRUE(ends(18)) << "a run that was begun anew is not further";
  EXPECT_FALSE(ends(19));
  EXPECT_TRUE(queue.is_empty());
}

TEST(PointQueueTest, WithoutRetriesTheFirstEndIsTheLast) {
  PointQueue queue({0}, 0);
  queue.next();
  EXPECT_FALSE(queue.ended_early(0, 5));
}

}  // namespace
}  // namespace flor::cli::queue_test
