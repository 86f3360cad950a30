// What a recording stores along the loops of a program, and how its run ends in the store.
#include "recording.h"

#include "record/early_end.h"
#include "record/run_report.h"
#include "schedule/step_rule.h"

#include <flor/store/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace flor::detail::recording_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// ---------------------------------------------------------------------------------------------

class StepRuleTest : public ::testing::Test {
 protected:
  StepRule::Time now_{std::chrono::hours(1)};
  Flags flags_;
  StepRule rule_{[this] { return now_; }};
};

TEST_F(StepRuleTest, WithoutAFlagNothingIsEverDue) {
  rule_.set_rule(flags_);
  rule_.step();
  now_ += std::chrono::hours(9);
  EXPECT_FALSE(rule_.is_set());
  EXPECT_FALSE(rule_.is_due());
}

TEST_F(StepRuleTest, StepsAreCountedFromTheLastCheckpoint) {
  flags_.every_steps = 2;
  rule_.set_rule(flags_);
  rule_.step();
  EXPECT_FALSE(rule_.is_due());
  rule_.step();
  EXPECT_TRUE(rule_.is_due());
  rule_.step();
  EXPECT_TRUE(rule_.is_due()) << "until one is taken";
  rule_.taken();
  EXPECT_FALSE(rule_.is_due());
}

TEST_F(StepRuleTest, SecondsAreTooAndWhicheverComesFirstCounts) {
  flags_.every_seconds = 1.5;
  flags_.every_steps = 2;
  rule_.set_rule(flags_);
  now_ += std::chrono::milliseconds(1499);
  EXPECT_FALSE(rule_.is_due());
  now_ += std::chrono::milliseconds(1);
  EXPECT_TRUE(rule_.is_due());
  rule_.taken();
  EXPECT_FALSE(rule_.is_due());
  rule_.step();
  rule_.step();
  EXPECT_TRUE(rule_.is_due());
}

// ---------------------------------------------------------------------------------------------

class LoopRecorderTest : public RecordingTest {};

TEST_F(LoopRecorderTest, TheBeginningTheIterationsOfTheRuleAndTheLastStateAreStored) {
  Recording it(store_, add_run(), every(2));
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.execute(main, 5);
  EXPECT_THAT(stored(it.run), ElementsAre("0", "2", "4"));
  it.end(main, LoopEnd::exhausted);
  it.write_waiting();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "2", "4", "5"));
  EXPECT_EQ(now(it.run).epochs, 5);
  const auto loops = store_->catalog().main_loops(it.run.id);
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(loops[0].iterations, 5);
  EXPECT_TRUE(loops[0].ended);
  EXPECT_FALSE(loops[0].broke);
}

TEST_F(LoopRecorderTest, AnIterationThatIsLeftIsTheLastOneAndIsComplete) {
  Recording it(store_, add_run(), every(100));
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.execute(main, 1);
  it.begin_iteration(main);
  it.end(main, LoopEnd::broke);
  it.write_waiting();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "2"));
  EXPECT_EQ(it.loops.epochs(), 2);
  EXPECT_TRUE(store_->catalog().main_loops(it.run.id).at(0).broke);
}

TEST_F(LoopRecorderTest, ALoopBeginsAfterTheEpochsOfTheLoopsBeforeIt) {
  Recording it(store_, add_run(), every(1));
  it.open();
  Frame first = it.frame("epoch"), second = it.frame("tune");
  it.begin(first);
  it.execute(first, 2);
  it.end(first, LoopEnd::exhausted);
  it.begin(second);
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.first_epoch, 2);
  it.end(second, LoopEnd::exhausted);
}

TEST_F(LoopRecorderTest, WhatIsPassedByCountsAndItsEndIsStoredAlready) {
  Recording it(store_, add_run(), every(1));
  it.open();
  Frame main = it.frame("epoch");
  it.loops.begin_main(main);
  it.frames.push_back(&main);
  it.loops.pass_by(3, true);
  main.index = 3;
  EXPECT_EQ(it.loops.epochs(), 3);
  it.end(main, LoopEnd::exhausted);
  it.drain();
  EXPECT_THAT(stored(it.run), IsEmpty()) << "the state at its end is the one that is stored";
}

TEST_F(LoopRecorderTest, AnIterationIsStoredThroughoutOrNotAtAll) {
  Recording it(store_, add_run(), every(2));
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  for (int i = 0; i < 2; ++i) {
    it.begin_iteration(main);
    Frame nested = it.frame("train");
    it.loops.begin_nested(nested);
    it.step(nested);
    it.loops.end_nested(nested, LoopEnd::exhausted);
    it.loops.end_iteration(main, false);
  }
  it.drain();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "1 train", "2"));
}

TEST_F(LoopRecorderTest, CheckpointsInsideIterationsComeWhenTheyAreDue) {
  Flags flags = every(1);
  flags.every_steps = 2;
  Recording it(store_, add_run(), flags);
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.begin_iteration(main);
  Frame nested = it.frame("train");
  it.loops.begin_nested(nested);
  for (int i = 0; i < 5; ++i) it.step(nested);
  EXPECT_THAT(stored(it.run), ElementsAre("0", "0 train@2", "0 train@4"));
}

TEST_F(LoopRecorderTest, InsideAnIterationNothingIsTakenIfItsBeginningIsNotStored) {
  Flags flags = every(100);
  Recording it(store_, add_run(), flags);
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.execute(main, 1);
  it.begin_iteration(main);
  Frame nested = it.frame("train");
  it.loops.begin_nested(nested);
  it.step(nested);
  it.loops.take_last(&nested);
  it.drain();
  EXPECT_THAT(stored(it.run), ElementsAre("0"));
}

TEST_F(LoopRecorderTest, WhatARuleForStepsDemandsForcesTheEndOfAnIteration) {
  Flags flags = every(100);
  flags.every_steps = 1;
  Recording it(store_, add_run(), flags);
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.execute(main, 1);
  EXPECT_THAT(stored(it.run), ElementsAre("0")) << "no step was made";
  it.begin_iteration(main);
  Frame nested = it.frame("train");
  it.loops.begin_nested(nested);
  it.step(nested);
  it.loops.end_nested(nested, LoopEnd::exhausted);
  it.loops.end_iteration(main, false);
  it.drain();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "2"));
}

TEST_F(LoopRecorderTest, TheLastStepIsTakenWithoutAnyRule) {
  Recording it(store_, add_run(), every(100));
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.begin_iteration(main);
  Frame nested = it.frame("train");
  it.loops.begin_nested(nested);
  for (int i = 0; i < 3; ++i) it.step(nested);
  it.loops.take_last(&nested);
  it.drain();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "0 train@3"));
}

TEST_F(LoopRecorderTest, AnEpochAfterWhichTheProcessEndsIsStored) {
  Recording it(store_, add_run(), every(100));
  it.open();
  Frame main = it.frame("epoch");
  it.begin(main);
  it.begin_iteration(main);
  it.loops.end_iteration(main, true);
  it.loops.take_last(nullptr);
  it.drain();
  EXPECT_THAT(stored(it.run), ElementsAre("0", "1"));
}

// ---------------------------------------------------------------------------------------------

/// A run that is in its second epoch, after two steps.
class RunInside : public RecordingTest {
 protected:
  RunInside() {
    it_.open();
    it_.begin(main_);
    it_.execute(main_, 1);
    it_.begin_iteration(main_);
    nested_ = it_.frame("train");
    it_.loops.begin_nested(nested_);
    for (int i = 0; i < 2; ++i) it_.step(nested_);
    it_.loops.take_last(&nested_);
    it_.drain();
  }
  template <typename Job>
  void on_background(Job&& job) {
    it_.background->post(job);
    it_.drain();
  }
  store::Run ended() const { return now(it_.run); }

  Recording it_{store_, add_run(), every(1)};
  Frame main_ = it_.frame("epoch"), nested_ = it_.frame("train");
};

class RunStorageTest : public RunInside {};

TEST_F(RunStorageTest, AFinishedRunNeedsNoCheckpointInsideAnIteration) {
  int reports = 0;
  on_background([&] { it_.storage.end(false, "", [&] { ++reports; }); });
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(it_.store, nullptr) << "closed";
  EXPECT_EQ(ended().state, store::RunState::finished);
  EXPECT_THAT(stored(it_.run), ElementsAre("0", "1"));
}

TEST_F(RunStorageTest, AFailedOneMayBeResumedThere) {
  on_background([&] { it_.storage.end(true, "no data", [] {}); });
  EXPECT_EQ(ended().state, store::RunState::failed);
  EXPECT_EQ(ended().message, "no data");
  EXPECT_THAT(stored(it_.run), ElementsAre("0", "1", "1 train@2"));
}

TEST_F(RunStorageTest, AReportThatFailsLeavesTheRunFinished) {
  on_background(
      [&] { it_.storage.end(false, "", [] { throw std::runtime_error("no terminal"); }); });
  EXPECT_EQ(ended().state, store::RunState::finished);
}

TEST_F(RunStorageTest, AProgramThatFailsAfterTheEndOfItsRunFailedIt) {
  on_background([&] { it_.storage.end(false, "", [] {}); });
  it_.storage.fail_after_end("exit status 3");
  EXPECT_EQ(ended().state, store::RunState::failed);
  EXPECT_EQ(ended().message, "exit status 3");
}

TEST_F(RunStorageTest, WithoutAnEndThatWasWrittenTheRunStaysInterrupted) {
  on_background([&] { it_.storage.close(); });
  it_.storage.fail_after_end("exit status 3");
  EXPECT_EQ(ended().state, store::RunState::interrupted);
}

TEST_F(RunStorageTest, AnInterruptedRunKeepsItsStepsOrDropsThem) {
  on_background([&] { it_.storage.interrupt("by a test", RunStorage::Steps::kept); });
  EXPECT_EQ(ended().state, store::RunState::interrupted);
  EXPECT_EQ(ended().message, "by a test");
  EXPECT_THAT(stored(it_.run), ElementsAre("0", "1", "1 train@2"));
  on_background([&] { it_.storage.interrupt("by another", RunStorage::Steps::dropped); });
  EXPECT_EQ(ended().message, "by another");
  EXPECT_THAT(stored(it_.run), ElementsAre("0", "1"));
}

TEST_F(RunStorageTest, StepsOfTheProcessBeforeAreItsOwn) {
  on_background([&] { it_.storage.interrupt("by a test", RunStorage::Steps::kept); });
  Recording later(store_, it_.run, every(1));
  later.storage.take_over({}, true);
  later.open();
  later.background->post([&] { later.storage.end(false, "", [] {}); });
  later.drain();
  EXPECT_THAT(stored(it_.run), ElementsAre("0", "1"));
}

TEST_F(RunStorageTest, ARunThatShouldNotHaveBegunIsGone) {
  on_background([&] { it_.storage.drop(); });
  EXPECT_EQ(store_->catalog().run(it_.run.id), std::nullopt);
}

TEST_F(RunStorageTest, FindsTheNewestCheckpoint) {
  it_.write_waiting();
  const auto found = it_.storage.find(false);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->number, 0);
}

// ---------------------------------------------------------------------------------------------

class EarlyEndTest : public RunInside {
 protected:
  std::string interrupt(int signal) {
    std::string line;
    on_background([&] { line = end_.interrupt(signal, "epoch 1, step 2 of train"); });
    return line;
  }
  EarlyEnd end_{{.store = it_.store,
                 .run = it_.run,
                 .background = it_.background,
                 .storage = it_.storage,
                 .group = it_.group}};
};

TEST_F(EarlyEndTest, OutsideOfLoopsASignalEndsTheProcess) {
  using enum EarlyEnd::Reaction;
  EXPECT_EQ(end_.answer(0), none);
  EXPECT_EQ(end_.answer(SIGTERM), end_now);
  EXPECT_EQ(end_.answer(SIGTERM), none) << "it is about to end";
}

TEST_F(EarlyEndTest, InsideALoopItsNextStepDoesAndTheUserIsToldOnce) {
  using enum EarlyEnd::Reaction;
  end_.enter_loop();
  EXPECT_EQ(end_.answer(0), none);
  EXPECT_EQ(end_.answer(SIGUSR1), end_of_step);
  EXPECT_EQ(end_.answer(SIGUSR1), none);
  end_.leave_loop();
  EXPECT_EQ(end_.answer(SIGUSR1), end_now) << "no step came";
}

TEST_F(EarlyEndTest, AfterTheEndOfTheProgramASignalIsTooLate) {
  end_.enter_loop();
  end_.leave_loop();
  end_.close();
  EXPECT_NE(end_.answer(SIGTERM), EarlyEnd::Reaction::end_now);
}

TEST_F(EarlyEndTest, APreemptedRunIsInterruptedAndTheUserLearnsWhereItGoesOn) {
  const std::string line = interrupt(SIGTERM);
  EXPECT_THAT(line, StartsWith("preempted by SIGTERM at epoch 1, step 2 of train; --flor test "
                               "--flor_resume goes on with run " +
                               it_.run.key.substr(0, 8)));
  EXPECT_THAT(line, EndsWith(" at epoch 1, step 2 of train"));
  EXPECT_EQ(ended().state, store::RunState::interrupted);
  EXPECT_EQ(ended().message, "preempted by SIGTERM at epoch 1, step 2 of train");
}

TEST_F(EarlyEndTest, TheUserInterruptsAndAnotherRankPreempts) {
  EXPECT_THAT(interrupt(SIGINT), StartsWith("interrupted by Ctrl-C at epoch 1"));
  EXPECT_THAT(interrupt(0), StartsWith("preempted by a signal to another rank at epoch 1"));
}

TEST_F(EarlyEndTest, WhereTheInterruptionCannotBeRecordedItIsNotClaimed) {
  on_background([&] { it_.storage.drop(); });
  it_.store = store_;
  bool failed = false;
  on_background([&] {
    try {
      end_.interrupt(SIGTERM, "its start");
    } catch (const std::exception&) {
      failed = true;
    }
  });
  EXPECT_TRUE(failed);
}

// ---------------------------------------------------------------------------------------------

TEST(RunReport, SaysWhatIsRecordedAndWhatIsMissing) {
  store::Run run;
  run.key = "0123456789abcdef";
  run.start.experiment = "mnist";
  run.epochs = 1;
  run.stored_bytes = 2048;
  EXPECT_EQ(print_begun(run, true, " from the end of epoch 3 of run aa"),
            "recording mnist as run 01234567 from the end of epoch 3 of run aa; follow it with: "
            "flor plot 01234567 --follow");
  EXPECT_THAT(print_begun(run, false, ""), HasSubstr("mnist, the name last used here, as run"));
  const std::string whole = print_recorded(run, {}, {});
  EXPECT_THAT(whole, StartsWith("recorded mnist as run 01234567: 1 epoch, 2"));
  EXPECT_THAT(whole, Not(HasSubstr("overhead"))) << "too short for a percentage";
  store::Recording recording;
  recording.computed = 10;
  recording.cost = 0.25;
  run.epochs = 2;
  EXPECT_THAT(print_recorded(run, recording, {}), HasSubstr("2 epochs"));
  EXPECT_THAT(print_recorded(run, recording, {}), HasSubstr(", overhead 2.5 %; next: flor show"));
  store::Gap gap;
  gap.first = gap.last = 4;
  gap.values = true;
  EXPECT_THAT(print_recorded(run, recording, {gap}), HasSubstr("; MISSING: "));
  EXPECT_THAT(print_failed(run, {gap}), HasSubstr("failed after 2 epochs; MISSING: "));
}

}  // namespace
}  // namespace flor::detail::recording_test
