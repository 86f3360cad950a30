// What is taken out of argv and what stays. Wrong flags in whole programs: tests/programs.
#include "flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::detail {
namespace {

using ::testing::ElementsAre;

class TakeFlags : public ::testing::Test {
 protected:
  Flags take(std::vector<std::string> words) {
    words_ = std::move(words);
    words_.insert(words_.begin(), "program");
    std::vector<char*> argv;
    for (std::string& word : words_) argv.push_back(word.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(words_.size());
    kept_.clear();
    Flags flags;
    try {
      flags = take_flags(argc, argv.data());
    } catch (...) {
      for (int i = 1; i < argc; ++i) kept_.emplace_back(argv[static_cast<std::size_t>(i)]);
      throw;
    }
    EXPECT_EQ(argv[static_cast<std::size_t>(argc)], nullptr);
    for (int i = 1; i < argc; ++i) kept_.emplace_back(argv[static_cast<std::size_t>(i)]);
    return flags;
  }

  std::vector<std::string> words_, kept_;
};

TEST_F(TakeFlags, NothingOfFlorsMeansNothingToDo) {
  EXPECT_EQ(take({"--epochs", "3", "data"}).mode, Mode::off);
  EXPECT_THAT(kept_, ElementsAre("--epochs", "3", "data"));
}

TEST_F(TakeFlags, TheNameOfARecordingIsTheNextWordUnlessItBeginsWithADash) {
  EXPECT_EQ(take({"--flor", "digits", "data"}).name, "digits");
  EXPECT_THAT(kept_, ElementsAre("data"));
  EXPECT_EQ(take({"--flor", "--fast"}).name, "");
  EXPECT_THAT(kept_, ElementsAre("--fast"));
  EXPECT_EQ(take({"--flor=digits", "data"}).name, "digits");
  EXPECT_THAT(kept_, ElementsAre("data"));
  EXPECT_EQ(take({"--flor"}).mode, Mode::record);
}

TEST_F(TakeFlags, TheSegmentOfAReplayIsTheNextWordOnlyIfItLooksLikeOne) {
  const Flags flags = take({"--replay_flor", "3/7", "data"});
  EXPECT_EQ(flags.mode, Mode::replay);
  EXPECT_EQ(flags.segment, 3);
  EXPECT_EQ(flags.segments, 7);
  EXPECT_THAT(kept_, ElementsAre("data"));
  EXPECT_EQ(take({"--replay", "data/3"}).segments, 1);
  EXPECT_THAT(kept_, ElementsAre("data/3"));
  EXPECT_EQ(take({"--replay=0/2"}).segments, 2);
}

TEST_F(TakeFlags, EverythingAfterTheDoubleDashIsLeftAlone) {
  EXPECT_EQ(take({"a", "--", "--flor", "x", "--florist"}).mode, Mode::off);
  EXPECT_THAT(kept_, ElementsAre("a", "--", "--flor", "x", "--florist"));
}

TEST_F(TakeFlags, KwargsAreTheAssignmentsThatFollow) {
  const Flags flags =
      take({"--flor", "x", "--kwargs", "lr=0.1", "title=a=b", "empty=", "data", "c=d"});
  EXPECT_THAT(flags.kwargs, ElementsAre(std::pair<const std::string, std::string>("empty", ""),
                                        std::pair<const std::string, std::string>("lr", "0.1"),
                                        std::pair<const std::string, std::string>("title", "a=b")));
  EXPECT_THAT(kept_, ElementsAre("data", "c=d"));
}

TEST_F(TakeFlags, ProbesMayBeListedOrRepeated) {
  EXPECT_THAT(take({"--replay", "--flor_probe", "a,b", "--flor_probe=c"}).probes,
              ElementsAre("a", "b", "c"));
}

TEST_F(TakeFlags, WrongFlagsLeaveTheArgumentsAsTheyWere) {
  EXPECT_THROW(take({"a", "--flor", "x", "--flor_every", "0", "b"}), UsageError);
  EXPECT_THAT(kept_, ElementsAre("a", "--flor", "x", "--flor_every", "0", "b"));
}

TEST_F(TakeFlags, TheCommandIsKeptAsItWasGiven) {
  EXPECT_THAT(take({"--flor", "x", "a"}).command, ElementsAre("program", "--flor", "x", "a"));
}

}  // namespace
}  // namespace flor::detail
