// Log statements of the newest version of a training, carried into all of its versions, against
// what a person makes of them.
#include "carry/carrier.h"
#include "hindsight/by_hand.h"

#include <gmock/gmock.h>

namespace flor::carry {
namespace {

using namespace flor::testing;

Carrier carrier() {
  const std::string newest = read_history("v7.cpp");
  return Carrier({{"train.cpp", newest}}, {{"train.cpp", add_by_hand(newest, questions())}});
}

TEST(CarryHistory, TheWorkTreesLogStatementsAreFoundOneByOne) {
  const Carrier carry = carrier();
  std::vector<std::string> found;
  for (const Addition& hunk : carry.hunks()) {
    found.push_back(hunk.hunk.what + " in " + hunk.hunk.function);
  }
  EXPECT_THAT(found,
              ::testing::ElementsAre("logs \"so_far\" in validate", "logs \"relative\" in main",
                                     "logs \"first\" in main", "logs \"speed\" in main"));
  EXPECT_TRUE(carry.others().empty());
  EXPECT_EQ(carry.hunks()[1].hunk.loops, (std::vector<std::string>{"epoch", "train"}));
}

TEST(CarryHistory, EachVersionBecomesWhatAPersonMakesOfIt) {
  const Carrier carry = carrier();
  for (const VersionByHand& version : history_by_hand()) {
    SCOPED_TRACE(version.name);
    const std::string text = read_history(version.name);
    const Carried carried = carry.carry({{"train.cpp", text}});
    ASSERT_EQ(carried.files.size(), 1u);
    EXPECT_EQ(carried.files[0].text, add_by_hand(text, version.added));
    std::set<std::string> refused;
    for (const Refused& hunk : carried.refused) {
      refused.merge(logged_names(
          Source("", carry.hunks()[static_cast<std::size_t>(hunk.hunk - 1)].hunk.text),
          {0, Source("", carry.hunks()[static_cast<std::size_t>(hunk.hunk - 1)].hunk.text)
                  .tokens.all.size()}));
      EXPECT_FALSE(hunk.reason.empty());
    }
    EXPECT_EQ(refused, (std::set<std::string>(version.not_there.begin(), version.not_there.end())));
  }
}

TEST(CarryHistory, OnlyTheChosenHunksAreCarried) {
  const std::string text = read_history("v5.cpp");
  const Carried carried = carrier().carry({{"train.cpp", text}}, {2});
  ASSERT_EQ(carried.placed.size(), 1u);
  EXPECT_EQ(carried.placed[0].hunk, 2);
  EXPECT_TRUE(carried.placed[0].merged);
  EXPECT_THAT(carried.files.at(0).text,
              ::testing::HasSubstr("flor::log(\"relative\", loss / sum);"));
  EXPECT_THAT(carried.files.at(0).text, ::testing::Not(::testing::HasSubstr("speed")));
}

TEST(CarryHistory, ALoopThatMovedToAnotherFileIsFoundThere) {
  std::string text = read_history("v5.cpp");
  const Carried carried = carrier().carry({{"main.cpp", text}, {"other.cpp", "int x;\n"}});
  ASSERT_EQ(carried.files.size(), 1u);
  EXPECT_EQ(carried.files[0].path, "main.cpp");
  EXPECT_EQ(carried.placed.size(), 4u);
  EXPECT_THAT(carried.placed[0].remarks, ::testing::Contains(::testing::HasSubstr("main.cpp")));
}

}  // namespace
}  // namespace flor::carry
