// A resume executes what it can check again: state that the program forgot to register is told
// before the run goes on, and a program that registers it goes on.
#include "workbench.h"

#include <array>

namespace flor::testing::resume_check_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kDiffers = 7;

struct Way {
  std::string change, use, die;
  bool list = false;
};
std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << way.change << ", " << way.use << ", killed at " << way.die;
}

/// Every way to change the number, to use it and to be killed.
std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const char* change : {"epoch_begin", "step", "epoch_end", "once", "every_other"}) {
    for (const char* use : {"in_loop", "logged_in_loop", "after_loop", "logged", "order", "steps",
                            "whether_logged", "whether_entered", "late"}) {
      for (const char* die : {"4:0:0", "4:1:15", "6:0:0"}) {
        ways.push_back({change, use, die, ways.size() % 4 == 3});
      }
    }
  }
  return ways;
}

class ResumeCheck : public ::testing::Test {
 protected:
  static Words arguments(const Way& way, bool registered) {
    Words words{"--flor_every", "1", "--kwargs", "change=" + way.change, "use=" + way.use};
    if (registered) words.emplace_back("registered=true");
    if (way.list) words.emplace_back("list=true");
    return words;
  }
  ProcessResult start(const Words& words, const std::string& die = {}) const {
    auto options = bench_.options();
    if (!die.empty()) options.environment["DIE"] = die;
    return bench_.run("forgetful", Words{"--flor", "test"} + words, options);
  }
  /// False: the program does not come to the place where it is to be killed.
  bool is_killed(const Way& way, bool registered) const {
    const auto result = start(arguments(way, registered), way.die);
    return result.status == 75 || result.signal != 0;
  }

  void expect_told(const Way& way) {
    SCOPED_TRACE(::testing::PrintToString(way));
    if (!is_killed(way, false)) return;
    const auto resumed = start({"--flor_resume"});
    EXPECT_EQ(resumed.status, kDiffers) << resumed.err;
    EXPECT_THAT(resumed.err, AllOf(HasSubstr("not resumed: epoch "), HasSubstr("computed again"),
                                   HasSubstr("--flor_resume --flor_check none")));
    EXPECT_EQ(resumed.out, "");
    EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
    ++told_;
  }
  void expect_resumed(const Way& way) {
    SCOPED_TRACE(::testing::PrintToString(way));
    const auto whole = start(arguments(way, true));
    const auto values = bench_.values("loss").size();
    if (!is_killed(way, true)) return;
    const auto resumed = start({"--flor_resume"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, AllOf(HasSubstr("flor: checked: epoch "), HasSubstr("values and 2 "
                                                                                 "states equal")));
    EXPECT_EQ(resumed.out, whole.out);
    EXPECT_EQ(bench_.values("loss").size(), values) << "nothing twice, nothing missing";
    ++resumed_;
  }

  Workbench bench_;
  int told_ = 0, resumed_ = 0;
};

TEST_F(ResumeCheck, ForgottenStateIsToldAndKeptStateGoesOn) {
  const auto ways = all_ways();
  for (std::size_t i = 0; i < ways.size() && !HasFailure(); i += 11) {
    expect_told(ways[i]);
    expect_resumed(ways[i]);
  }
  EXPECT_GE(told_, 9);
  EXPECT_GE(resumed_, 9);
}

TEST_F(ResumeCheck, SlowForgottenStateIsToldInEveryWay) {
  for (const Way& way : all_ways()) expect_told(way);
  EXPECT_GE(told_, 100);
}

TEST_F(ResumeCheck, SlowKeptStateGoesOnInEveryWay) {
  for (const Way& way : all_ways()) expect_resumed(way);
  EXPECT_GE(resumed_, 100);
}

TEST_F(ResumeCheck, GoesOnAllTheSameWhenToldTo) {
  const Way way{"epoch_begin", "in_loop", "4:1:15"};
  ASSERT_TRUE(is_killed(way, false));
  EXPECT_EQ(start({"--flor_resume"}).status, kDiffers);
  const auto resumed = start({"--flor_resume", "--flor_check", "none"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("not checked: --flor_check none"));
  EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
  EXPECT_EQ(bench_.run_count(), 1u);
}

TEST_F(ResumeCheck, ExecutesAsMuchOfALongEpochAsItsTimeAllows) {
  const Way way{"epoch_begin", "in_loop", "4:0:0"};
  ASSERT_TRUE(is_killed(way, true));
  const auto resumed = start({"--flor_resume", "--flor_check", "1e-9"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err,
              HasSubstr("checked: epoch 3 computed again up to step 0 of train, 3 values and 0 "
                        "states equal"));
  EXPECT_EQ(resumed.out, start(arguments(way, true)).out);
  ASSERT_TRUE(is_killed(way, false));
  EXPECT_EQ(start({"--flor_resume", "--flor_check", "1e-9"}).status, kDiffers);
}

TEST_F(ResumeCheck, TakesTheLastEpochWhoseBeginningIsStored) {
  const Way way{"epoch_begin", "in_loop", "6:2:15"};
  auto words = arguments(way, true);
  words[1] = "3";
  const auto whole = start(words);
  ASSERT_EQ(start(words, way.die).status, 75);
  const auto resumed = start({"--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("checked: epoch 3 computed again, 13 values and 0 states"));
  EXPECT_EQ(resumed.out, whole.out);
}

/// Of a long epoch the last stretch before the point is executed again.
class ResumeCheckOfLongEpochs : public ResumeCheck {
 protected:
  /// The program is killed, and the record says that its complete epochs took hours.
  bool is_killed_late(const Way& way, bool registered) const {
    auto options = bench_.options();
    options.environment["DIE"] = way.die;
    options.environment["AWAIT"] = "1";
    const Words words =
        Words{"--flor", "test", "--flor_every_steps", "3"} + arguments(way, registered);
    auto result = bench_.run("forgetful", words, options);
    for (int i = 0; i < 20 && result.status == 99; ++i) {  // a busy machine
      result = bench_.run("forgetful", words, options);
    }
    if (result.status != 75 && result.signal == 0) return false;
    store::Progress longer{.loops = {}, .iterations = {}, .executions = {}};
    const auto store = bench_.store();
    const auto run = bench_.last_run();
    for (store::Iteration iteration : store->catalog().iterations(run.id)) {
      iteration.seconds = 1e4;
      longer.iterations.push_back(iteration);
    }
    store->catalog().add_progress(run.id, longer);
    return true;
  }
  ProcessResult resume(const char* seconds = "1000") const {
    return start({"--flor_resume", "--flor_check", seconds});
  }
  void expect_exact(const ProcessResult& resumed, const Way& way, const char* checked) const {
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr(checked));
    EXPECT_EQ(resumed.out, start(arguments(way, true)).out);
  }
};

TEST_F(ResumeCheckOfLongEpochs, TheStretchUpToTheStepAtWhichTheRunGoesOnIsComputedAgain) {
  const Way way{"epoch_begin", "late", "4:9:15"};
  ASSERT_TRUE(is_killed_late(way, true));
  expect_exact(resume(), way,
               "checked: epoch 4 computed again from step 9 of train up to step 9, 1 value and 1 "
               "state equal");
  ASSERT_TRUE(is_killed_late(way, false));
  const auto resumed = resume();
  EXPECT_EQ(resumed.status, kDiffers) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("not resumed: epoch 4 computed again"));
  EXPECT_EQ(resume().status, kDiffers) << "what it is checked from is still there";
}

TEST_F(ResumeCheckOfLongEpochs, TheStretchUpToTheEndOfAnEpochIsComputedAgain) {
  const Way way{"epoch_begin", "late", "4:0:0"};
  ASSERT_TRUE(is_killed_late(way, true));
  expect_exact(resume(), way,
               "checked: epoch 3 computed again from step 9 of train up to its end, 2 values and "
               "1 state equal");
  ASSERT_TRUE(is_killed_late(way, false));
  EXPECT_EQ(resume().status, kDiffers);
  EXPECT_EQ(resume().status, kDiffers);
}

TEST_F(ResumeCheckOfLongEpochs, TheFirstEpochIsCheckedToo) {
  const Way way{"epoch_begin", "late", "0:2:15"};
  ASSERT_TRUE(is_killed_late(way, true));
  expect_exact(resume(), way,
               "checked: epoch 0 computed again from step 0 of train up to step 2, 3 values and 1 "
               "state equal");
}

TEST_F(ResumeCheckOfLongEpochs, AStretchIsLeftForThePointWhenItsTimeIsOver) {
  const Way way{"epoch_begin", "in_loop", "4:1:15", true};
  ASSERT_TRUE(is_killed_late(way, true));
  expect_exact(resume("1e-9"), way,
               "checked: epoch 4 computed again from step 0 of train up to step 0, 1 value and 0 "
               "states equal");
  ASSERT_TRUE(is_killed_late(way, false));
  EXPECT_EQ(resume("1e-9").status, kDiffers);
}

TEST_F(ResumeCheckOfLongEpochs, SlowKeptStateGoesOnInEveryWay) {
  constexpr std::array kDie = {"4:0:0", "4:4:15", "6:9:15", "5:10:15"};
  int number = 0;
  for (Way way : all_ways()) {
    way.die = kDie.at(static_cast<std::size_t>(number) % kDie.size());
    SCOPED_TRACE(::testing::PrintToString(way));
    const char* seconds = ++number % 3 == 0 ? "1e-9" : "1000";
    if (!is_killed_late(way, true)) continue;
    expect_exact(resume(seconds), way, "checked: epoch ");
    if (HasFailure()) return;
  }
}

TEST_F(ResumeCheck, SaysWhereNothingCanBeChecked) {
  const Way way{"epoch_begin", "in_loop", "0:0:0"};
  ASSERT_TRUE(is_killed(way, true));
  const auto resumed = start({"--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, AllOf(HasSubstr("not checked: no epoch of its loop is complete"),
                                 Not(HasSubstr("flor: checked"))));
}

}  // namespace
}  // namespace flor::testing::resume_check_test
