// Whether a nested loop is skipped, from its facts alone.
#include "replay/skip.h"

#include <gtest/gtest.h>

namespace flor::detail {
namespace {

using sources::Leaving;

SkipReason reason(const LoopFacts& facts) { return decide(facts).reason; }

TEST(SkipDecision, SkipsWhatIsStoredAndConcernsNobody) {
  EXPECT_TRUE(decide({.stored = true}).skips());
  EXPECT_TRUE(decide({.stored = true, .broke = true}).skips());
  EXPECT_TRUE(decide({.stored = true, .leaving = Leaving::possible}).skips());
  EXPECT_TRUE(decide({.stored = true, .leaving = Leaving::unknown}).skips());
}

TEST(SkipDecision, SaysWhyALoopIsExecuted) {
  EXPECT_EQ(reason({}), SkipReason::not_stored);
  EXPECT_EQ(reason({.stored = true, .named = true}), SkipReason::named);
  EXPECT_EQ(reason({.stored = true, .changed = true}), SkipReason::changed);
  EXPECT_EQ(reason({.stored = true, .read = true}), SkipReason::read);
  EXPECT_EQ(reason({.stored = true, .left_main = true}), SkipReason::left);
  EXPECT_EQ(reason({.stored = true, .broke = true, .leaving = Leaving::possible}),
            SkipReason::left);
  EXPECT_EQ(reason({.stored = true, .broke = true, .leaving = Leaving::unknown}),
            SkipReason::no_source);
}

TEST(SkipDecision, OnTheWayOnlyWhatIsAskedLaterCounts) {
  EXPECT_TRUE(decide({.stored = true, .catching_up = true, .changed = true}).skips());
  EXPECT_EQ(reason({.stored = true, .catching_up = true, .read = true, .leads = true}),
            SkipReason::read);
  EXPECT_EQ(reason({.catching_up = true, .changed = true}), SkipReason::not_stored);
}

TEST(SkipDecision, IsPrintedWithTheQuestion) {
  EXPECT_EQ(print_reason(SkipReason::read, "\"norm\""), "read by \"norm\"");
  EXPECT_EQ(print_reason(SkipReason::not_stored, ""), "not stored");
}

}  // namespace
}  // namespace flor::detail
