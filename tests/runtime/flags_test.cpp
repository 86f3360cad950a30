// What is taken out of argv and what stays. Wrong flags in whole programs: tests/programs.
#include "protocol/flags.h"

#include "base/process_facts.h"
#include "protocol/flag_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
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

TEST_F(TakeFlags, ADashAndAnUnderscoreAreTheSame) {
  EXPECT_EQ(take({"--replay-flor", "3/7"}).segment, 3);
  EXPECT_EQ(take({"--replay-flor=1/2"}).segments, 2);
  const Flags flags =
      take({"--flor", "x", "--flor-no-git", "--flor-every-steps=4", "--flor_every-seconds", "2"});
  EXPECT_FALSE(flags.git);
  EXPECT_EQ(flags.every_steps, 4);
  EXPECT_EQ(flags.every_seconds, 2.0);
  EXPECT_THAT(kept_, ElementsAre());
}

TEST_F(TakeFlags, HowMuchIsKeptOfWhatIsPrinted) {
  EXPECT_EQ(take({"--flor", "x"}).beside.output_mib, std::nullopt);
  EXPECT_EQ(take({"--flor", "x", "--flor_output", "64"}).beside.output_mib, 64);
  EXPECT_EQ(take({"--flor", "x", "--flor_output=none"}).beside.output_mib, 0);
  EXPECT_EQ(take({"--flor", "x"}).beside.machine_seconds, std::nullopt);
  EXPECT_EQ(take({"--flor", "x", "--flor_machine", "2.5"}).beside.machine_seconds, 2.5);
  EXPECT_EQ(take({"--flor", "x", "--flor_machine", "none"}).beside.machine_seconds, 0);
  EXPECT_THROW(take({"--flor", "x", "--flor_output", "0"}), UsageError);
  EXPECT_THROW(take({"--flor", "x", "--flor_output", "much"}), UsageError);
  EXPECT_THROW(take({"--replay_flor", "--flor_output", "1"}), UsageError);
}

TEST_F(TakeFlags, WhatAReplayTakesInsteadOfTheRecord) {
  const Flags flags = take({"--replay", "--flor_override", "device=cpu", "workers=0", "own",
                            "--flor-override=data=/a=b"});
  EXPECT_EQ(flags.instead.shown_arguments(), "data=/a=b device=cpu workers=0");
  EXPECT_THAT(kept_, ElementsAre("own"));
  EXPECT_THROW(take({"--replay", "--flor_override"}), UsageError);
  EXPECT_THROW(take({"--replay", "--flor_override="}), UsageError);
  EXPECT_THROW(take({"--flor", "x", "--flor_override", "device=cpu"}), UsageError);
}

// Every flag of Flor's, slipped in every way by one letter, one dash or one case.
TEST_F(TakeFlags, NearMissesOfEveryFlagAreRefusedWithTheRightForm) {
  const std::vector<std::string> names{
      "flor",         "replay",        "replay_flor", "kwargs",     "flor_run",    "flor_home",
      "flor_init",    "flor_plugin",   "flor_probe",  "flor_every", "flor_resume", "flor_epochs",
      "flor_threads", "flor_no_probe", "flor_no_git", "flor_step"};
  std::set<std::string> slips{"-flor",   "--replayflor", "--Flor",      "--record",
                              "-Flor",   "--REPLAY",     "--florrun",   "--flor-runn",
                              "---flor", "--kwarg",      "--replay_flr"};
  for (const std::string& name : names) {
    slips.insert("-" + name);
    slips.insert("---" + name);
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string shorter = name, swapped = name, upper = name;
      shorter.erase(i, 1);
      if (i + 1 < name.size()) std::swap(swapped[i], swapped[i + 1]);
      upper[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(upper[i])));
      for (const std::string& slip :
           {shorter, swapped, upper, name.substr(0, i) + "q" + name.substr(i)}) {
        if (std::ranges::find(names, slip) == names.end()) slips.insert("--" + slip);
      }
    }
  }
  for (const char* ordinary : {"--for", "--relay", "--reply"}) slips.erase(ordinary);
  EXPECT_GT(slips.size(), 500u);
  for (const std::string& slip : slips) {
    EXPECT_THAT(
        [&] {
          take({"data", slip, "x"});
        },
        ::testing::ThrowsMessage<UsageError>(::testing::ContainsRegex("--(flor|replay|kwargs)")))
        << slip;
  }
}

TEST_F(TakeFlags, FlagsOfTheProgramPass) {
  const std::vector<std::string> own{"--floor",
                                     "--flow=3",
                                     "--color",
                                     "--epochs",
                                     "--lr",
                                     "-f",
                                     "-lr",
                                     "-for",
                                     "--resume",
                                     "--run",
                                     "--home",
                                     "--threads",
                                     "--init",
                                     "--args",
                                     "--relay",
                                     "--probe",
                                     "--plugin",
                                     "--every",
                                     "--no-git",
                                     "--display",
                                     "--recorder",
                                     "--help",
                                     "-1",
                                     "-0.5",
                                     "--epsilon",
                                     "--replay-buffer",
                                     "--replay_memory=10",
                                     "--player",
                                     "--reply"};
  for (const std::string& word : own) {
    EXPECT_EQ(take({word, "3"}).mode, Mode::off) << word;
    EXPECT_THAT(kept_, ElementsAre(word, "3"));
  }
  EXPECT_EQ(take({"--", "-flor"}).mode, Mode::off);
  // It is said already what is to be done.
  EXPECT_EQ(take({"--flor", "x", "--record"}).mode, Mode::record);
  EXPECT_THAT(kept_, ElementsAre("--record"));
}

TEST_F(TakeFlags, APartThatStandsAloneInAReplayIsRefused) {
  const auto alone = ::testing::ThrowsMessage<UsageError>(
      ::testing::HasSubstr("5/6 stands alone: write --replay_flor 5/6"));
  EXPECT_THAT([&] { take({"--replay_flor", "--flor_probe", "train", "5/6"}); }, alone);
  EXPECT_THAT([&] { take({"5/6", "--replay-flor"}); }, alone);
  EXPECT_THAT([&] { take({"--replay_flor", "data", "5/6"}); }, alone);
  EXPECT_EQ(take({"--replay_flor", "--shard", "5/6"}).segments, 1);
  EXPECT_EQ(take({"--replay_flor", "0/2", "5/6"}).segments, 2);
  EXPECT_EQ(take({"--replay_flor", "--", "5/6"}).segments, 1);
  EXPECT_EQ(take({"--flor", "x", "5/6"}).mode, Mode::record);
}

TEST_F(TakeFlags, HelpCountsBeforeAnythingThatIsMissing) {
  EXPECT_TRUE(take({"--flor_run", "x", "--flor-help"}).help);
  const auto help = flag_help();
  EXPECT_LE(std::ranges::count(help, '\n'), 28);
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(CommandLine, IsReadWordByWord) {
  const auto words = command_line("/proc/self/cmdline");
  ASSERT_FALSE(words.empty());
  EXPECT_THAT(words[0], ::testing::HasSubstr("runtime_test"));
  EXPECT_TRUE(command_line("/nowhere/cmdline").empty());
}

TEST_F(TakeFlags, TheCommandIsKeptAsItWasGiven) {
  EXPECT_THAT(take({"--flor", "x", "a"}).command, ElementsAre("program", "--flor", "x", "a"));
}

}  // namespace
}  // namespace flor::detail
