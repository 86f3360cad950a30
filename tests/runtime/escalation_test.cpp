// What is done about a writer that is late.
#include "schedule/escalation.h"

#include <gtest/gtest.h>

namespace flor::detail {
namespace {

TEST(Escalation, EachLateCheckpointThatMustBeStoredIsOneStepMore) {
  Escalation escalation;
  EXPECT_EQ(escalation.due(false, false), Haste::none);
  EXPECT_EQ(escalation.due(true, false), Haste::priority);
  EXPECT_EQ(escalation.due(true, false), Haste::fast);
  EXPECT_EQ(escalation.due(true, false), Haste::raw);
  EXPECT_EQ(escalation.due(true, false), Haste::raw);
  EXPECT_EQ(escalation.hurried(), 1);
  EXPECT_EQ(escalation.fast(), 1);
  EXPECT_EQ(escalation.raw(), 1);
}

TEST(Escalation, ACheckpointThatCanWaitIsNoReasonToStoreMoreBytes) {
  Escalation escalation;
  EXPECT_EQ(escalation.due(true, true), Haste::priority);
  EXPECT_EQ(escalation.due(true, true), Haste::priority);
  EXPECT_EQ(escalation.fast(), 0);
}

TEST(Escalation, BeingInTimeTwiceIsOneStepBack) {
  Escalation escalation;
  escalation.due(true, false);
  escalation.due(true, false);
  EXPECT_EQ(escalation.due(false, false), Haste::fast);
  EXPECT_EQ(escalation.due(false, false), Haste::priority);
  EXPECT_EQ(escalation.due(false, false), Haste::priority);
  EXPECT_EQ(escalation.due(false, false), Haste::none);
  EXPECT_EQ(escalation.due(false, false), Haste::none);
}

TEST(Escalation, WaitingForMemoryIsAStepByItself) {
  Escalation escalation;
  EXPECT_EQ(escalation.waited(), Haste::priority);
  EXPECT_EQ(escalation.waited(), Haste::fast);
  EXPECT_EQ(escalation.waited(), Haste::raw);
  EXPECT_EQ(escalation.waited(), Haste::raw);
  EXPECT_EQ(escalation.waits(), 4);
  EXPECT_EQ(to_string(escalation.haste()), "no codec");
}

}  // namespace
}  // namespace flor::detail
