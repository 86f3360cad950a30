// `flor watch --engine slurm` by a real Slurm of several nodes on this machine, whose directory
// FLOR_TEST_SLURM names (scripts/test.sh --slurm starts one).
#include "cluster/slurm_nodes.h"
#include "support/times.h"
#include "watch_fixture.h"

#include <map>

namespace flor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchSlurmTest : public OnSlurm<WatchTest> {
 protected:
  ProcessOptions plain_options() const override { return WatchTest::options(); }
  /// Notes on which node it judged what.
  std::string judge(const std::string& seconds) {
    return script(
        "judge.sh",
        "#!/bin/sh\nsleep " + seconds +
            "\necho \"$SLURMD_NODENAME $SLURM_PROCID ${CUDA_VISIBLE_DEVICES:-none} ${1##*/}\" >> "
            "judged\necho '{\"n\": 1}'\n");
  }
  Words on_slurm(const std::string& evaluator, const Words& more = {}) const {
    Words words = watch(evaluator, {"--engine", "slurm", "--existing", "--until-idle"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProcessResult settle_on_slurm(const std::string& evaluator, const Words& more = {}) const {
    return Process(on_slurm(evaluator, more), options()).wait();
  }
  /// How many of the first words of what was judged there are.
  std::map<std::string, int> nodes() const {
    std::map<std::string, int> counts;
    for (const std::string& line : judged_in_order()) ++counts[line.substr(0, line.find(' '))];
    return counts;
  }
  /// Names of checkpoints, as often as they were judged.
  std::multiset<std::string> names() const {
    std::multiset<std::string> all;
    for (const std::string& line : judged_in_order()) all.insert(line.substr(line.rfind(' ') + 1));
    return all;
  }
};

TEST_F(WatchSlurmTest, TheTasksOfOneJobOnTwoNodesJudgeEachCheckpointOnceEachWithItsGpu) {
  for (int i = 0; i < 24; ++i) publish(i);
  const auto result =
      settle_on_slurm(judge("0.1"), {"--workers", "4", "--nodes", "2", "--gpus-per-task", "1",
                                     "--partition", "main", "--time", "10"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(times(result.out, " done "), 24u);
  EXPECT_THAT(names(), SizeIs(24));
  EXPECT_THAT(nodes(), SizeIs(2)) << result.err;
  std::set<std::string> tasks;
  for (const std::string& line : judged_in_order()) {
    EXPECT_EQ(line.find("none"), line.npos) << line;
    tasks.insert(line.substr(0, line.rfind(' ')));
  }
  EXPECT_LE(tasks.size(), 4u) << "a task has the same GPU all the time";
  EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
}

TEST_F(WatchSlurmTest, ANodeThatIsKilledInTheMiddleCostsNoCheckpointAndNoResultTwice) {
  for (int i = 0; i < 16; ++i) publish(i);
  Process watcher(on_slurm(judge("0.5"), {"--workers", "4", "--nodes", "2"}), options());
  ASSERT_TRUE(soon([&] { return nodes().size() == 2 && judged().size() >= 4; })) << watcher.err();
  kill_node("n2");
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the worker on n2 has been silent for 4 s"));
  EXPECT_EQ(count("done"), 16u);
  EXPECT_EQ(times(result.out, " done "), 16u) << "each result counts once";
  const auto all = names();
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 16u);
}

TEST_F(WatchSlurmTest, TheNodeWithTheScriptOfTheJobIsKilledAndAnotherJobJudgesTheRest) {
  for (int i = 0; i < 12; ++i) publish(i);
  Process watcher(on_slurm(judge("0.5"), {"--workers", "2", "--nodes", "2"}), options());
  ASSERT_TRUE(soon([&] { return nodes().size() == 2; })) << watcher.err();
  kill_node("n1");
  // The job wants two nodes.
  ASSERT_TRUE(watcher.await([&] { return times(watcher.err(), "is submitted") == 2; }))
      << watcher.err();
  revive_node("n1");
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(times(result.out, " done "), 12u) << "each result counts once";
  EXPECT_EQ(count("done"), 12u);
}

TEST_F(WatchSlurmTest, AJobThatIsRequeuedGoesOnWhereItWas) {
  for (int i = 0; i < 10; ++i) publish(i);
  Process watcher(on_slurm(judge("0.4"), {"--workers", "2"}), options());
  ASSERT_TRUE(soon([&] { return judged().size() >= 2; })) << watcher.err();
  const std::string id = jobs_of_slurm();
  slurm({"scontrol", "requeue", id.substr(0, id.find('\n'))});
  // Slurm holds it back for two minutes.
  EXPECT_TRUE(watcher.await([&] {
    return watcher.err().find("was requeued") != std::string::npos;
  })) << watcher.err();
  slurm({"scontrol", "update", "JobId=" + id.substr(0, id.find('\n')), "StartTime=now"});
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(times(result.out, " done "), 10u);
}

TEST_F(WatchSlurmTest, AJobThatIsCancelledIsFollowedByAnother) {
  for (int i = 0; i < 6; ++i) publish(i);
  Process watcher(on_slurm(judge("0.4"), {"--workers", "1"}), options());
  ASSERT_TRUE(soon([&] { return judged().size() >= 2; })) << watcher.err();
  slurm({"scancel", "--user=root"});
  const auto result = watcher.wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("was cancelled"));
  EXPECT_EQ(times(result.out, " done "), 6u);
}

TEST_F(WatchSlurmTest, WhatSlurmRefusesIsOneLineAndWhatItHoldsIsSaid) {
  publish(1);
  const auto refused = settle_on_slurm(judge("0"), {"--partition", "nowhere"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("refused the job"));
  EXPECT_EQ(count("queued"), 1u);
  Process waiting(on_slurm(judge("0"), {"--partition", "closed"}), options());
  EXPECT_TRUE(waiting.await([&] {
    return waiting.err().find("PartitionDown") != std::string::npos;
  })) << waiting.err();
  waiting.kill(SIGTERM);
  EXPECT_EQ(waiting.wait().status, 130);
  EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
}

TEST_F(WatchSlurmTest, AnEvaluatorThatNoTaskCanLoadEndsTheWatchWithItsReasonAfterOneJob) {
  publish(1);
  const std::string broken = script("broken.py", "import no_such_module\n") + ":f";
  const auto result = settle_on_slurm(broken, {"--nodes", "2"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("No module named 'no_such_module'"));
  EXPECT_EQ(times(result.err, "is submitted"), 1u) << result.err;
  EXPECT_EQ(count("queued"), 1u);
}

TEST_F(WatchSlurmTest, TheJobThatAKilledWatchWaitedForIsCancelledByTheNextOne) {
  publish(1);
  Process killed(on_slurm(judge("0"), {"--partition", "closed"}), options());
  ASSERT_TRUE(soon([&] { return !jobs_of_slurm().empty(); })) << killed.err();
  killed.kill(SIGKILL);
  killed.wait();
  EXPECT_THAT(jobs_of_slurm(), SizeIs(::testing::Gt(0u)));
  // On this machine, for a change.
  const auto result = Process(watch(judge("0"), {"--existing", "--until-idle"}), options()).wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(count("done"), 1u);
  EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
}

}  // namespace
}  // namespace flor::testing
