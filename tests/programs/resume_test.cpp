// Runs that are interrupted at every instant and in every shape of loop go on as if nothing had
// happened: what is recorded in the end is what an uninterrupted run records.
#include "whole_record.h"
#include "workbench.h"

#include <csignal>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kPreempted = 75;

class Resume : public ::testing::Test {
 protected:
  static Words scenario(const std::string& name) { return {"--kwargs", "scenario=" + name}; }

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
  int interrupted(const Words& arguments, int signal, int count) {
    const std::size_t before = bench_.run_count();
    ProcessResult result = run(Words{"--flor", "test"} + arguments, after(signal, count));
    int resumed = 0;
    while (result.status != 0) {
      EXPECT_TRUE(signal == SIGKILL ? result.signal == SIGKILL : result.status == kPreempted)
          << result.status << result.err;
      EXPECT_EQ(bench_.run_count(), before + 1);
      if (::testing::Test::HasFailure() || ++resumed > 100) return resumed;
      // Each attempt gets further than the one before: at least one iteration more.
      result = run({"--flor", "test", "--flor_resume"}, after(signal, count + resumed * count));
    }
    return resumed;
  }

  Workbench bench_;
};

class ResumeLoops : public Resume, public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_same_as_uninterrupted(int signal, int first, int stride, const Words& flags = {}) {
    const Words arguments = scenario(GetParam()) + flags;
    bench_.record("loops", arguments);
    const WholeRecord whole = record();
    for (int count = first;; count += stride) {
      SCOPED_TRACE(std::string(GetParam()) + " interrupted after " + std::to_string(count));
      const int resumed = interrupted(arguments, signal, count);
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
  expect_same_as_uninterrupted(SIGKILL, 1, 1, {"--flor_every_steps", "1"});
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
                                      "from_five",
                                      "repeated_names"};
std::string name_of(const ::testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Every, ResumeLoops, ::testing::ValuesIn(kScenarios), name_of);
INSTANTIATE_TEST_SUITE_P(Every, ResumeLoopsSlow, ::testing::ValuesIn(kScenarios), name_of);

}  // namespace
}  // namespace flor::testing
