// A run is killed or preempted at random instants and resumed until it gets to its end. Whatever
// the instants were, it holds what an uninterrupted run holds.
#include "whole_record.h"
#include "workbench.h"

#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

namespace flor::testing::resume_storm_test {
namespace {

using Clock = std::chrono::steady_clock;
using ::testing::IsEmpty;

constexpr int kPreempted = 75;

/// A program and what it is recorded with.
struct Case {
  std::string program;
  Words arguments;
  std::string pause_us = "0";  ///< of each piece of work
};

const std::vector<Case> kCases{
    {"loops", {"--kwargs", "scenario=shuffled_nested"}, "3000"},
    {"trainer", {"--kwargs", "size=3000", "epochs=12", "steps=3", "pause_ms=2"}},
    {"loops", {"--kwargs", "scenario=attached_best"}, "3000"},
    {"loops", {"--kwargs", "scenario=two_mains"}, "3000"},
    {"loops", {"--kwargs", "scenario=two_nested"}, "3000"},
    {"loops", {"--kwargs", "scenario=early_stopping"}, "2000"},
};

struct Expected {
  WholeRecord record;
  std::chrono::microseconds duration{0};
};

class ResumeStorm : public ::testing::Test {
 protected:
  std::unique_ptr<Process> start(const Case& chosen, const Words& arguments) const {
    auto options = bench_.options();
    options.environment["RAISE"] = "0:0:" + chosen.pause_us;
    return std::make_unique<Process>(Words{program(chosen.program).string()} + arguments, options);
  }
  WholeRecord record() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  std::size_t run_count() const {
    return std::filesystem::exists(bench_.home()) ? bench_.run_count() : 0;
  }

  Expected uninterrupted(const Case& chosen, const Words& flags) const {
    const auto began = Clock::now();
    const auto result = start(chosen, Words{"--flor", "test"} + chosen.arguments + flags)->wait();
    EXPECT_EQ(result.status, 0) << result.err;
    return {record(), std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began)};
  }

  /// One attempt to get to the end. `signal`: 0 lets it.
  void attempt(const Case& chosen, const Words& flags, bool resumes, int signal,
               std::chrono::microseconds instant) {
    const Words beginning = Words{"--flor", "test"} + chosen.arguments + flags;
    const Words going_on{"--flor", "test", "--flor_resume"};
    const auto process = start(chosen, resumes ? going_on : beginning);
    if (signal != 0) {
      std::this_thread::sleep_for(instant);
      process->kill(signal);
    }
    const auto result = process->wait();
    if (result.signal == SIGKILL) {
      ++killed_;
    } else if (result.status == kPreempted) {
      ++preempted_;
    } else if (result.signal == SIGTERM) {
      ++terminated_;  // before flor::init was done, or after the run was
    } else {
      ASSERT_EQ(result.status, 0) << result.err;
    }
  }

  /// Interrupts a run up to four times, and lets it get to its end.
  void interrupt_and_finish(const Case& chosen, const Words& flags, const Expected& expected) {
    const std::size_t before = run_count();
    const int signals = std::uniform_int_distribution<int>(1, 4)(engine_);
    for (int i = 0; i <= signals; ++i) {
      const bool begun = run_count() > before;
      if (begun && bench_.last_run().state == store::RunState::finished) return;
      std::uniform_int_distribution<long> instants(0, expected.duration.count());
      const int signal = i == signals ? 0 : engine_() % 2 == 0 ? SIGKILL : SIGTERM;
      attempt(chosen, flags, begun, signal, std::chrono::microseconds(instants(engine_)));
      if (HasFatalFailure()) return;
    }
  }

  void expect_same(const WholeRecord& whole) const {
    const WholeRecord again = record();
    EXPECT_EQ(bench_.last_run().state, store::RunState::finished);
    EXPECT_EQ(again.values, whole.values);
    EXPECT_EQ(again.loops, whole.loops);
    EXPECT_EQ(again.iterations, whole.iterations);
    EXPECT_EQ(again.executions, whole.executions);
    EXPECT_EQ(again.arguments, whole.arguments);
    // Which ones are stored is a matter of time; that of the end always is.
    for (const auto& [key, digest] : again.checkpoints) {
      const auto found = whole.checkpoints.find(key);
      EXPECT_TRUE(found == whole.checkpoints.end() || found->second == digest) << key;
    }
    const auto loop = bench_.store()->catalog().main_loops(bench_.last_run().id).back();
    const auto end = std::to_string(static_cast<int>(store::CheckpointKind::boundary)) + " " +
                     std::to_string(loop.ordinal) + " " + std::to_string(loop.iterations) + " ";
    ASSERT_TRUE(again.checkpoints.contains(end) && whole.checkpoints.contains(end)) << end;
    EXPECT_EQ(again.checkpoints.at(end), whole.checkpoints.at(end));
  }

  void storm(int signals, const Words& flags, unsigned seed) {
    engine_.seed(seed);
    std::vector<Expected> expected;
    for (const Case& chosen : kCases) expected.push_back(uninterrupted(chosen, flags));
    int rounds = 0;
    // How many of them find a recording depends on what starting a program takes.
    for (; killed_ + preempted_ < signals && terminated_ < 20 * signals; ++rounds) {
      const auto i = static_cast<std::size_t>(rounds) % kCases.size();
      SCOPED_TRACE("round " + std::to_string(rounds) + ", " + kCases[i].program + " " +
                   kCases[i].arguments[1]);
      interrupt_and_finish(kCases[i], flags, expected[i]);
      ASSERT_FALSE(HasFatalFailure());
      expect_same(expected[i].record);
      if (rounds % 5 == 0) {
        const auto replayed = bench_.replay(kCases[i].program, {"--flor_run", "test"});
        EXPECT_EQ(replayed.status, 0) << replayed.err;
      }
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_THAT(bench_.damage(), IsEmpty());
    EXPECT_GE(killed_ + preempted_, signals) << "the signals were to hit recordings";
    std::cout << rounds << " runs equal to uninterrupted ones after " << killed_ << " kills, "
              << preempted_ << " preemptions, " << terminated_
              << " signals without a recording to heed them\n";
  }

  Workbench bench_;
  std::mt19937 engine_;
  int killed_ = 0, preempted_ = 0, terminated_ = 0;
};

TEST_F(ResumeStorm, AtRandomInstantsWithAllCheckpoints) { storm(8, {"--flor_every", "1"}, 1); }
TEST_F(ResumeStorm, AtRandomInstantsWithTheCheckpointsThatTheToleranceAllows) { storm(8, {}, 2); }
TEST_F(ResumeStorm, AtRandomInstantsWithCheckpointsInsideEpochs) {
  storm(8, {"--flor_every", "1", "--flor_every_steps", "1"}, 3);
}

using ResumeStormSlow = ResumeStorm;
TEST_F(ResumeStormSlow, AtAHundredRandomInstantsWithAllCheckpoints) {
  storm(100, {"--flor_every", "1"}, 4);
}
TEST_F(ResumeStormSlow, AtAHundredRandomInstantsWithTheCheckpointsThatTheToleranceAllows) {
  storm(100, {}, 5);
}
TEST_F(ResumeStormSlow, AtAHundredRandomInstantsWithCheckpointsInsideEpochs) {
  storm(100, {"--flor_every", "1", "--flor_every_steps", "1"}, 6);
}

}  // namespace
}  // namespace flor::testing::resume_storm_test
