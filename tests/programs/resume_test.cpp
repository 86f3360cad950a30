// Runs that are interrupted at every instant and in every shape of loop go on as if nothing had
// happened: what is recorded in the end is what an uninterrupted run records.
#include "support/some_points.h"
#include "whole_record.h"
#include "workbench.h"

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace flor::testing::resume_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kPreempted = 75;
const Words kAll{"--flor_every", "1"};

/// Until the process has written this; it fails where that ends without it, or after a minute.
template <typename Output>
void await(const Process& process, Output output, const std::string& text) {
  if (!process.await([&] { return output().find(text) != std::string::npos; })) {
    throw std::runtime_error("never written: " + text + "; " + process.err());
  }
}
void await_out(const Process& process, const std::string& text) {
  await(
      process, [&] { return process.out(); }, text);
}
void await_err(const Process& process, const std::string& text) {
  await(
      process, [&] { return process.err(); }, text);
}

class Resume : public ::testing::Test {
 protected:
  static Words scenario(const std::string& name) { return {"--kwargs", "scenario=" + name}; }
  static Words every(const std::string& name) { return scenario(name) + kAll; }

  WholeRecord record() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  ProcessResult run(const Words& arguments, const std::string& raise = {}) const {
    auto options = bench_.options();
    if (!raise.empty()) options.environment["RAISE"] = raise;
    return bench_.run("loops", arguments, options);
  }
  static std::string after(int signal, int count) {
    return std::to_string(signal) + ":" + std::to_string(count);
  }

  /// Records, and interrupts after each `count` pieces of work until the run gets to its end.
  int interrupted(const Words& arguments, int signal, int count, const Words& check = {}) {
    const std::size_t before = bench_.run_count();
    ProcessResult result = run(Words{"--flor", "test"} + arguments, after(signal, count));
    int resumed = 0;
    while (result.status != 0) {
      EXPECT_TRUE(signal == SIGKILL ? result.signal == SIGKILL : result.status == kPreempted)
          << result.status << result.err;
      EXPECT_EQ(bench_.run_count(), before + 1);
      if (::testing::Test::HasFailure() || ++resumed > 100) return resumed;
      // Each attempt gets further than the one before: at least one iteration more.
      result = run(Words{"--flor", "test", "--flor_resume"} + check,
                   after(signal, count + resumed * count));
    }
    return resumed;
  }

  Workbench bench_;
};

class ResumeLoops : public Resume, public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_same_as_uninterrupted(int signal, int first, int stride, const Words& flags = {},
                                    const Words& check = {}) {
    const Words arguments = scenario(GetParam()) + (flags.empty() ? kAll : flags);
    bench_.record("loops", arguments);
    const WholeRecord whole = record();
    // In a short suite at half of these places, at others each time.
    SomePoints points(0, 2 * stride);
    for (int next = first;; next += stride) {
      const int count = stride == 1 || every_point() ? next : first - 1 + points.next();
      SCOPED_TRACE(std::string(GetParam()) + " interrupted after " + std::to_string(count));
      const int resumed = interrupted(arguments, signal, count, check);
      const WholeRecord again = record();
      EXPECT_EQ(again.values, whole.values);
      EXPECT_EQ(again.loops, whole.loops);
      EXPECT_EQ(again.iterations, whole.iterations);
      EXPECT_EQ(again.executions, whole.executions);
      EXPECT_EQ(again.arguments, whole.arguments);
      // A preempted run may have left more of them.
      for (const auto& [key, digest] : whole.checkpoints) {
        const auto found = again.checkpoints.find(key);
        EXPECT_TRUE(found != again.checkpoints.end() && found->second == digest) << key;
      }
      if (HasFailure()) return;
      const auto run = bench_.last_run();
      EXPECT_EQ(run.state, store::RunState::finished);
      if (resumed == 0) break;
    }
    const auto replayed = bench_.replay("loops", {"--flor_run", "test"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(bench_.damage(), IsEmpty());
  }
};

TEST_P(ResumeLoops, GoOnExactlyWhenTheyArePreempted) {
  expect_same_as_uninterrupted(SIGTERM, 2, 5);
}
TEST_P(ResumeLoops, GoOnExactlyWhenTheyAreKilled) { expect_same_as_uninterrupted(SIGKILL, 3, 7); }
TEST_P(ResumeLoops, GoOnExactlyWithFewCheckpoints) {
  expect_same_as_uninterrupted(SIGUSR1, 7, 9, {"--flor_every", "3"});
}

using ResumeLoopsSlow = ResumeLoops;
TEST_P(ResumeLoopsSlow, GoOnExactlyWhereverTheyArePreempted) {
  expect_same_as_uninterrupted(SIGTERM, 1, 1);
}
TEST_P(ResumeLoopsSlow, GoOnExactlyWhereverTheyAreKilled) {
  expect_same_as_uninterrupted(SIGKILL, 1, 1);
}
TEST_P(ResumeLoopsSlow, GoOnExactlyWhereverTheyAreKilledWithStepsKept) {
  expect_same_as_uninterrupted(SIGKILL, 1, 1, {"--flor_every_steps", "1", "--flor_every", "1"});
}

TEST_P(ResumeLoopsSlow, GoOnExactlyWhateverIsCheckedBefore) {
  expect_same_as_uninterrupted(SIGTERM, 2, 1, {"--flor_every_steps", "2", "--flor_every", "1"},
                               {"--flor_check", "1e-9"});
}

/// "preempted by ..." and where it goes on.
std::string preemption_line(const ProcessResult& result) {
  const auto lines = lines_with(result.err, {"flor: preempted"});
  return lines.empty() ? std::string() : lines.front();
}

TEST_F(Resume, APreemptedRunSaysWhereItStandsAndHowToGoOn) {
  const auto result = run(Words{"--flor", "test"} + every("plain"), after(SIGTERM, 11));
  EXPECT_EQ(result.status, kPreempted);
  EXPECT_THAT(preemption_line(result),
              AllOf(HasSubstr("preempted by SIGTERM at epoch 2, step 3 of train"),
                    HasSubstr("--flor test --flor_resume"), HasSubstr("at epoch 2, step 3")));
  const auto run_now = bench_.last_run();
  EXPECT_EQ(run_now.state, store::RunState::interrupted);
  EXPECT_EQ(run_now.message, "preempted by SIGTERM at epoch 2, step 3 of train");
  const auto resumed = run({"--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("resuming run " + run_now.key.substr(0, 8) +
                                     " of test at epoch 2, step 3 of train; follow it with: flor " +
                                     "plot " + run_now.key.substr(0, 8) + " --follow"));
  EXPECT_EQ(bench_.last_run().key, run_now.key);
  EXPECT_EQ(bench_.last_run().message, "");
  const auto resumptions = bench_.store()->catalog().resumptions(run_now.id);
  ASSERT_EQ(resumptions.size(), 1u);
  EXPECT_EQ(resumptions[0].point.epoch, 2);
  EXPECT_EQ(resumptions[0].point.step, 3);
}

TEST_F(Resume, WhatWasExecutedIsNotExecutedAgain) {
  const auto first = run(Words{"--flor", "test"} + every("two_nested"), after(SIGUSR1, 16));
  ASSERT_EQ(first.status, kPreempted);
  const auto second = run({"--flor", "test", "--flor_resume"});
  ASSERT_EQ(second.status, 0) << second.err;
  const auto whole = bench_.record("loops", every("two_nested"));
  EXPECT_EQ(lines_of(first.out + second.out), lines_of(whole.out));
}

TEST_F(Resume, ASignalBeforeTheFirstLoopAndAfterTheLastIsHeeded) {
  for (const char* scenario_name : {"slow_prologue", "slow_epilogue"}) {
    SCOPED_TRACE(scenario_name);
    bench_.record("loops", every(scenario_name));
    const WholeRecord whole = record();
    const auto process =
        bench_.start("loops", Words{"--flor", "test"} + every(scenario_name) + Words{"linger"});
    await_out(*process, "lingering");
    process->kill(SIGTERM);
    const auto result = process->wait();
    EXPECT_EQ(result.status, kPreempted) << result.err;
    EXPECT_EQ(run({"--flor", "test", "--flor_resume"}).status, 0);
    EXPECT_EQ(record(), whole);
  }
}

TEST_F(Resume, ASecondSignalOfThoseThatInsistEndsAtOnce) {
  for (const auto& [first, second] :
       {std::pair(SIGTERM, SIGTERM), {SIGINT, SIGINT}, {SIGTERM, SIGINT}, {SIGINT, SIGTERM}}) {
    SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
    const auto process =
        bench_.start("loops", Words{"--flor", "test"} + every("stuck") + Words{"linger"});
    await_out(*process, "lingering");
    process->kill(first);
    await_err(*process, "checkpointed at the next step");
    EXPECT_THAT(process->err(),
                HasSubstr("another " + std::string(first == SIGINT ? "Ctrl-C" : "SIGTERM") +
                          " ends it at once"));
    process->kill(second);
    EXPECT_EQ(process->wait().signal, second);
    EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
    EXPECT_EQ(run({"--flor", "test", "--flor_resume"}).status, 0);
  }
}

TEST_F(Resume, CtrlCIsTakenLikeSigtermAndTheShellIsToldOfIt) {
  const auto result = run(Words{"--flor", "test"} + every("plain"), after(SIGINT, 11));
  EXPECT_EQ(result.signal, SIGINT) << "a script that waits for the program ends, too";
  const auto lines = lines_with(result.err, {"flor: interrupted"});
  ASSERT_EQ(lines.size(), 1u) << result.err;
  EXPECT_THAT(lines[0],
              AllOf(HasSubstr("interrupted by Ctrl-C at epoch 2, step 3 of train"),
                    HasSubstr("--flor test --flor_resume"), HasSubstr("at epoch 2, step 3")));
  EXPECT_EQ(bench_.last_run().state, store::RunState::interrupted);
  const auto resumed = run({"--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const auto whole = bench_.record("loops", every("plain"));
  EXPECT_EQ(lines_of(result.out + resumed.out), lines_of(whole.out));
}

TEST_F(Resume, ARunThatIsAliveIsNotResumed) {
  const auto process =
      bench_.start("loops", Words{"--flor", "test"} + every("stuck") + Words{"linger"});
  await_out(*process, "lingering");
  const auto refused = run({"--flor", "test", "--flor_resume"});
  EXPECT_EQ(refused.status, 6);
  EXPECT_THAT(refused.err, SaysOnce("still being recorded"));
  process->kill(SIGKILL);
  process->wait();
  EXPECT_EQ(run({"--flor", "test", "--flor_resume"}).status, 0);
}

TEST_F(Resume, AFinishedRunIsNotResumed) {
  bench_.record("loops", every("plain"));
  const WholeRecord whole = record();
  const auto refused = run({"--flor", "test", "--flor_resume"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, SaysOnce("has finished: there is nothing to resume"));
  EXPECT_EQ(record(), whole);
  EXPECT_EQ(run({"--flor", "other", "--flor_resume"}).status, 3);
  EXPECT_EQ(run({"--flor_resume", "--flor_run", "nosuch"}).status, 3);
}

TEST_F(Resume, AutomaticallyEitherGoesOnOrBegins) {
  const Words command = Words{"--flor", "test", "--flor_resume", "auto"} + every("plain");
  EXPECT_EQ(run(command, after(SIGTERM, 6)).status, kPreempted);
  const auto first = bench_.last_run();
  EXPECT_EQ(run(command, after(SIGTERM, 6)).status, kPreempted);
  EXPECT_EQ(bench_.run_count(), 1u);
  EXPECT_EQ(run(command).status, 0);
  EXPECT_EQ(bench_.last_run().key, first.key);
  EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
  EXPECT_EQ(run(command, after(SIGTERM, 6)).status, kPreempted);
  EXPECT_EQ(bench_.run_count(), 2u) << "the finished one is left alone";
  // Another command line is another job.
  EXPECT_EQ(run(Words{"--flor", "test", "--flor_resume", "auto"} + every("unnamed")).status, 0);
  EXPECT_EQ(bench_.run_count(), 3u);
  EXPECT_EQ(run(command).status, 0);
  EXPECT_EQ(bench_.run_count(), 3u);
}

// A supervisor starts the job again as soon as it has sent the signal.
TEST_F(Resume, ARunWhoseProcessIsStillDyingIsWaitedFor) {
  const Words command = Words{"linger", "--flor", "test", "--flor_resume", "auto"} + every("stuck");
  const auto killed = bench_.start("loops", command);
  await_out(*killed, "lingering");
  const auto next = bench_.start("loops", command);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  killed->kill(SIGKILL);
  await_out(*next, "lingering");
  EXPECT_EQ(bench_.run_count(), 1u) << "it goes on, and does not begin anew";
  next->kill(SIGKILL);
  next->wait();
}

TEST_F(Resume, ArgumentsStayWhatTheyWere) {
  run(Words{"--flor", "test"} + every("two_nested"), after(SIGTERM, 6));
  const auto refused = run(Words{"--flor", "test", "--flor_resume"} + scenario("plain"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, SaysOnce("was started with scenario=two_nested"));
  const auto resumed = run(Words{"--flor", "test", "--flor_resume"} + scenario("two_nested"));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
}

TEST_F(Resume, ChangedSourcesAreSaidAndKept) {
  run(Words{"--flor", "test"} + every("plain"), after(SIGTERM, 6));
  const auto before = bench_.last_run();
  bench_.repository().write("train.cpp", "int main() { return 0; }\n");
  const auto resumed = run({"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0);
  EXPECT_THAT(resumed.err, HasSubstr("the sources changed since run"));
  EXPECT_EQ(bench_.last_run().start.commit, before.start.commit);
  const auto resumptions = bench_.store()->catalog().resumptions(before.id);
  ASSERT_EQ(resumptions.size(), 1u);
  EXPECT_NE(resumptions[0].commit, before.start.commit);
}

TEST_F(Resume, AFailedRunIsResumedToo) {
  bench_.record("lifecycle", kAll);
  const WholeRecord whole = record();
  EXPECT_NE(bench_.run("lifecycle", {"throw", "--flor", "test", "--flor_every", "1"}).signal, 0);
  EXPECT_EQ(bench_.last_run().state, store::RunState::failed);
  const auto resumed = bench_.run("lifecycle", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("was started with other arguments"));
  EXPECT_EQ(record(), whole);
}

TEST_F(Resume, AnotherProgramIsRefusedAndTheRunIsLeftResumable) {
  run(Words{"--flor", "test"} + every("two_mains"), after(SIGTERM, 14));
  const auto refused = bench_.run("lifecycle", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("main loop 0 was 'warmup', but is 'epoch'"));
  EXPECT_EQ(bench_.last_run().state, store::RunState::failed);
  EXPECT_EQ(run({"--flor", "test", "--flor_resume"}).status, 0);
}

TEST_F(Resume, CheckpointsInsideAnEpochAreTakenEverySoManySteps) {
  const Words arguments = every("shuffled_nested") + Words{"--flor_every_steps", "2"};
  // Each killed run loses at most the steps since the last one.
  const auto killed =
      run(Words{"--flor", "test"} + arguments, std::to_string(SIGKILL) + ":9:30000");
  ASSERT_EQ(killed.signal, SIGKILL);
  const auto resumed = run({"--flor", "test", "--flor_resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("at epoch 1, step 2 of train"));
  const WholeRecord again = record();
  for (const auto& [key, digest] : again.checkpoints) {
    EXPECT_NE(key.front(), '2') << "none outlasts its epoch: " << key;
  }
  bench_.record("loops", every("shuffled_nested"));
  EXPECT_EQ(record(), again);
}

TEST_F(Resume, TheReplayOfAResumedRunIsExact) {
  run(Words{"--flor", "test"} + every("two_nested"), after(SIGTERM, 8));
  run({"--flor", "test", "--flor_resume"}, after(SIGKILL, 7));
  ASSERT_EQ(run({"--flor", "test", "--flor_resume"}).status, 0);
  const auto replayed = bench_.replay("loops", {"--flor_probe", "train,test"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  EXPECT_TRUE(
      bench_.store()
          ->catalog()
          .values({.run = bench_.last_run().id, .names = {}, .first_epoch = -1, .recorded = false})
          .empty());
}

constexpr const char* kScenarios[] = {"plain",
                                      "without_nested",
                                      "break_nested",
                                      "break_main",
                                      "return_nested",
                                      "continue_both",
                                      "early_stopping",
                                      "thrown_and_caught",
                                      "thrown_out_of_main",
                                      "two_mains",
                                      "same_main_twice",
                                      "unnamed",
                                      "two_nested",
                                      "same_nested_twice",
                                      "three_deep",
                                      "nested_now_and_then",
                                      "nested_of_nothing",
                                      "words_in_a_list",
                                      "shuffled_main",
                                      "shuffled_nested",
                                      "attached_locals",
                                      "attached_best",
                                      "attached_to_main",
                                      "grows",
                                      "from_five",
                                      "repeated_names"};
std::string name_of(const ::testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Every, ResumeLoops, ::testing::ValuesIn(kScenarios), name_of);
INSTANTIATE_TEST_SUITE_P(Every, ResumeLoopsSlow, ::testing::ValuesIn(kScenarios), name_of);

}  // namespace
}  // namespace flor::testing::resume_test
