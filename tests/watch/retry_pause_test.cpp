// Pauses between tries, by a clock of the test's own.
#include "watch/retry_pause.h"

#include <gtest/gtest.h>

namespace flor::cli {
namespace {

using namespace std::chrono_literals;

TEST(RetryPause, DoublesUpToTheLongest) {
  RetryPause pause(200ms, 1000ms);
  RetryPause::Time now{};
  for (const auto expected : {200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    pause.failed(now, "why");
    EXPECT_EQ(pause.next() - now, expected);
    EXPECT_FALSE(pause.may_try(now + expected - 1ms));
    EXPECT_TRUE(pause.may_try(now + expected));
    now = pause.next();
  }
}

TEST(RetryPause, TellsTheFirstFailureAndTheFirstSuccess) {
  RetryPause pause(200ms, 1000ms);
  EXPECT_FALSE(pause.succeeded());
  EXPECT_TRUE(pause.failed({}, "one"));
  EXPECT_FALSE(pause.failed({}, "two"));
  EXPECT_EQ(pause.why(), "two");
  EXPECT_TRUE(pause.succeeded());
  EXPECT_FALSE(pause.succeeded());
  EXPECT_TRUE(pause.failed({}, "three"));
}

TEST(RetryPause, BeginsAnewAfterASuccess) {
  RetryPause pause(200ms, 1000ms);
  for (int i = 0; i < 3; ++i) pause.failed({}, "");
  pause.succeeded();
  EXPECT_TRUE(pause.may_try({}));
  EXPECT_EQ(pause.next(), RetryPause::Time::max());
  pause.failed({}, "");
  EXPECT_EQ(pause.next(), RetryPause::Time(200ms));
}

TEST(RetryPause, CountsPatienceFromTheFirstFailure) {
  RetryPause pause(200ms, 1000ms);
  EXPECT_EQ(pause.end_of(1s), RetryPause::Time::max());
  pause.failed(RetryPause::Time(5s), "");
  pause.failed(RetryPause::Time(9s), "");
  EXPECT_EQ(pause.end_of(10s), RetryPause::Time(15s));
}

}  // namespace
}  // namespace flor::cli
