// Trainings with libtorch that are preempted or killed in the middle of an epoch go on bit for bit:
// shuffled data, dropout, batch norm, optimizers, schedulers and gradients that are accumulated.
#include "whole_record.h"
#include "workbench.h"

#include <csignal>
#include <set>

namespace flor::testing::learner_resume_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kPreempted = 75;

/// When a process of a run ends: by `signal`, at its `count`-th training step.
struct End {
  int signal;
  int count;
  int pause_us = 0;  ///< of each step, so that the writer keeps up
};

class LearnerResume : public ::testing::Test {
 protected:
  WholeRecord record() const {
    const auto store = bench_.store();
    return whole_record(*store, store->catalog().runs().at(0).id);
  }
  ProcessResult run(const Words& arguments, const End* end = nullptr) const {
    auto options = bench_.options();
    if (end) {
      options.environment["RAISE"] = std::to_string(end->signal) + ":" +
                                     std::to_string(end->count) + ":" +
                                     std::to_string(end->pause_us);
    }
    return bench_.run(program_, Words{"--flor", "test"} + arguments, options);
  }

  /// Interrupts a run at each of `ends`, and compares what it is in the end with an uninterrupted
  /// one. Returns what the attempts printed.
  std::vector<ProcessResult> expect_exact(const Words& arguments, const std::vector<End>& ends,
                                          Words probe = {"--flor_probe", "train"}) {
    const std::size_t before = has_run_ ? bench_.run_count() : 0;
    has_run_ = true;
    const auto whole_result = run(arguments);
    EXPECT_EQ(whole_result.status, 0) << whole_result.err;
    const WholeRecord whole = record();
    std::vector<ProcessResult> attempts;
    for (const End& end : ends) {
      attempts.push_back(run(attempts.empty() ? arguments : Words{"--flor_resume"}, &end));
      left_.push_back(bench_.checkpoints());
      const auto& result = attempts.back();
      EXPECT_TRUE(end.signal == SIGKILL ? result.signal == SIGKILL : result.status == kPreempted)
          << result.status << ' ' << result.signal << ' ' << result.err;
    }
    attempts.push_back(run({"--flor_resume"}));
    EXPECT_EQ(attempts.back().status, 0) << attempts.back().err;
    EXPECT_EQ(bench_.run_count(), before + 2);
    expect_same(record(), whole);
    if (HasFailure()) return attempts;
    EXPECT_EQ(lines_with(attempts.back().out, {"tail"}).back(),
              lines_with(whole_result.out, {"tail"}).back());
    const auto replayed = bench_.replay(program_, std::move(probe));
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    EXPECT_THAT(replayed.err, HasSubstr("verified: "));
    EXPECT_EQ(lines_of(replayed.out), lines_of(whole_result.out));
    EXPECT_THAT(bench_.damage(), IsEmpty());
    whole_out_ = whole_result.out;
    return attempts;
  }

  static void expect_same(const WholeRecord& again, const WholeRecord& whole) {
    EXPECT_EQ(again.values, whole.values);
    EXPECT_EQ(again.loops, whole.loops);
    EXPECT_EQ(again.iterations, whole.iterations);
    EXPECT_EQ(again.executions, whole.executions);
    EXPECT_EQ(again.arguments, whole.arguments);
    // Which ones are stored can be a matter of time.
    for (const auto& [key, digest] : again.checkpoints) {
      const auto found = whole.checkpoints.find(key);
      EXPECT_TRUE(found == whole.checkpoints.end() || found->second == digest) << key;
    }
  }

  /// Nothing was computed twice.
  void expect_shared_work(const std::vector<ProcessResult>& attempts) const {
    std::string out;
    for (const auto& result : attempts) out += result.out;
    EXPECT_EQ(lines_of(out), lines_of(whole_out_));
  }

  static Words adam(const std::string& more = {}) {
    Words words{"--kwargs", "optimizer=adam"};
    if (!more.empty()) words.push_back(more);
    return words + Words{"--flor_every", "1"};
  }

  Workbench bench_;
  std::string program_ = "learner", whole_out_;
  std::vector<std::set<std::string>> left_;  ///< the checkpoints that each attempt left
  bool has_run_ = false;
};

// 5 batches an epoch.
TEST_F(LearnerResume, APreemptedEpochGoesOnInItsPermutation) {
  const auto attempts = expect_exact(adam(), {{SIGTERM, 13}, {SIGUSR1, 4}, {SIGTERM, 5}});
  EXPECT_THAT(attempts[0].err, HasSubstr("at epoch 2, step 3 of train"));
  EXPECT_THAT(attempts[1].err, HasSubstr("at epoch 3, step 2 of train"));
  expect_shared_work(attempts);
}

TEST_F(LearnerResume, EveryStepOfAnEpochIsAPlaceToGoOn) {
  std::vector<End> ends{{SIGTERM, 6}};
  ends.insert(ends.end(), 7, {SIGTERM, 1});
  expect_shared_work(expect_exact(adam(), ends));
}

TEST_F(LearnerResume, AKilledEpochGoesOnAtItsLastCheckpoint) {
  const Words arguments = adam() + Words{"--flor_every_steps", "3"};
  const auto attempts = expect_exact(arguments, {{SIGKILL, 15, 60000}, {SIGKILL, 6, 30000}});
  EXPECT_THAT(attempts[1].err, HasSubstr("resuming run"));
  // Epoch 2 at step 3, unless the machine is so busy that the latest checkpoints were not complete.
  for (const char* epoch : {"1", "2"}) {
    if (left_[0].contains(std::string("boundary 0/") + epoch)) {
      EXPECT_THAT(attempts[1].err, ContainsRegex(std::string("at epoch [") + epoch + "-2]"));
    }
  }
}

TEST_F(LearnerResume, WithWorkersThatLoadAhead) {
  const auto attempts = expect_exact(adam("workers=2"), {{SIGTERM, 13}, {SIGTERM, 4}});
  EXPECT_THAT(attempts[0].err, HasSubstr("at epoch 2, step 3 of train"));
  expect_shared_work(attempts);
}

TEST_F(LearnerResume, WithWorkersAndAKill) {
  expect_exact(adam("workers=2") + Words{"--flor_every_steps", "3"}, {{SIGKILL, 15, 30000}});
}

TEST_F(LearnerResume, GradientsThatAreBeingAccumulatedAreKept) {
  expect_shared_work(
      expect_exact(adam("accumulate=5"), {{SIGTERM, 6}, {SIGTERM, 1}, {SIGTERM, 7}}));
}

// Found out in epoch 1, in which what was stored until then is dropped.
TEST_F(LearnerResume, GradientsThatAreCarriedFromOneEpochToTheNextAreKept) {
  expect_exact(adam("accumulate=2"), {{SIGTERM, 13}, {SIGTERM, 1}, {SIGTERM, 3}});
}

TEST_F(LearnerResume, WithTheStateOfEveryOptimizer) {
  for (const char* optimizer : {"sgd", "adamw", "rmsprop", "adagrad", "lbfgs"}) {
    SCOPED_TRACE(optimizer);
    expect_exact({"--kwargs", std::string("optimizer=") + optimizer, "--flor_every", "1"},
                 {{SIGTERM, 8}});
  }
}

TEST_F(LearnerResume, WithTheCheckpointsThatTheToleranceAllows) {
  expect_exact({"--kwargs", "optimizer=adam"}, {{SIGTERM, 13}, {SIGKILL, 10}, {SIGTERM, 17}});
}

TEST_F(LearnerResume, ADataLoaderAsTheMainLoop) {
  const auto attempts = expect_exact(adam("main=loader"), {{SIGTERM, 3}}, {});
  expect_shared_work(attempts);
}

// 4 batches an epoch, and checkpoints that are copied while they are computed.
TEST_F(LearnerResume, WithOverlappingCopies) {
  program_ = "overlapper";
  for (const char* ways : {"ways=auto", "ways=fence"}) {
    SCOPED_TRACE(ways);
    const Words arguments{"--kwargs", ways, "--flor_every", "1"};
    expect_shared_work(
        expect_exact(arguments, {{SIGTERM, 10}, {SIGUSR1, 5}}, {"--flor_probe", "train,test"}));
    expect_exact(arguments + Words{"--flor_every_steps", "3"},
                 {{SIGKILL, 12, 30000}, {SIGKILL, 5, 30000}}, {"--flor_probe", "train,test"});
  }
}

}  // namespace
}  // namespace flor::testing::learner_resume_test
