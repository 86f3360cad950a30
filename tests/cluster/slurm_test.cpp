// Replays by a real Slurm of several nodes on this machine, whose directory FLOR_TEST_SLURM names
// (scripts/test.sh --slurm starts one): nodes die, jobs are requeued, cancelled and run out of
// time.
#include "cluster/slurm_nodes.h"
#include "file/line_log.h"
#include "replay/replay_command.h"

#include <set>

namespace flor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SlurmTest : public OnSlurm<ReplayCommand> {
 protected:
  ProcessOptions plain_options() const override { return bench_.options(); }
  ProcessResult on_slurm(const Words& arguments) const {
    return run_process(command(Words{"test", "--engine", "slurm"} + arguments), options());
  }
  std::unique_ptr<Process> start_on_slurm(const Words& arguments) const {
    return std::make_unique<Process>(command(Words{"test", "--engine", "slurm"} + arguments),
                                     options());
  }
  /// Two tasks on each of two nodes, each with a GPU.
  Words probing(const Words& more = {}) const {
    return Words{"--nodes", "2", "--workers", "2", "--probe", "train"} + more +
           Words{"--", other("trainer_inner")};
  }
  void record(int epochs, int pause_ms) {
    bench_.record("trainer", {"--kwargs", "epochs=" + std::to_string(epochs),
                              "pause_ms=" + std::to_string(pause_ms)});
  }
  std::vector<std::string> found_alone_in(int epochs, int pause_ms) {
    record(epochs, pause_ms);
    return found_alone("trainer_inner", {"--flor_probe", "train"});
  }
  /// Hosts of the seats that have come.
  std::set<std::string> hosts() const {
    std::set<std::string> hosts;
    std::error_code error;
    for (const auto& session :
         std::filesystem::directory_iterator(bench_.home() / "segments", error)) {
      for (const auto& entry :
           std::filesystem::directory_iterator(session.path() / "seats", error)) {
        if (entry.path().extension() != ".said") continue;
        const auto lines = store::LineLogReader(entry.path()).read();
        if (!lines.empty() && lines[0].starts_with("here ")) hosts.insert(lines[0].substr(5));
      }
    }
    return hosts;
  }
  std::string job() const {
    std::string id = jobs_of_slurm();
    while (!id.empty() && id.back() == '\n') id.pop_back();
    return id;
  }
  bool nothing_is_left() const {
    std::error_code error;
    return std::filesystem::is_empty(bench_.home() / "segments", error) &&
           eventually([&] { return job().empty(); });
  }
};

TEST_F(SlurmTest, TwoNodesFindWhatOneProcessFinds) {
  const auto alone = found_alone_in(6, 0);
  record(6, 0);
  const auto result = on_slurm(probing());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("verified: "), HasSubstr("executed train 6 times")));
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(bench_.damage(), IsEmpty());
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, AnArrayFindsTheSame) {
  const auto alone = found_alone_in(8, 50);
  record(8, 50);
  const auto result =
      on_slurm({"--array", "--workers", "3", "--probe", "train", "--", other("trainer_inner")});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, EachTaskHasItsOwnGpu) {
  record(8, 100);
  const auto seen = bench_.home().parent_path() / "seen", path = seen.parent_path() / "see.sh";
  std::ofstream(path) << "#!/bin/sh\necho $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES >> "
                      << seen.string() << "\nexec " << other("trainer_inner") << " \"$@\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const auto result = on_slurm({"--nodes", "2", "--workers", "4", "--gpus-per-task", "1", "--probe",
                                "train", "--", path.string()});
  EXPECT_EQ(result.status, 0) << result.err;
  std::ifstream in(seen);
  std::multiset<std::string> devices;
  for (std::string line; std::getline(in, line);) devices.insert(line);
  EXPECT_EQ(devices.size(), 4u);
  for (const std::string& device : devices) {
    EXPECT_EQ(device.substr(0, 1), "n") << device;
    EXPECT_EQ(device.size(), 4u) << "one GPU: " << device;
  }
}

TEST_F(SlurmTest, AnInterruptCancelsTheJobAndKeepsWhatIsDone) {
  record(40, 50);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; })) << replaying->err();
  replaying->kill(SIGINT);
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_GT(found().size(), 4u);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, AJobThatIsCancelledByOthersIsPartlyDone) {
  record(40, 50);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; })) << replaying->err();
  slurm({"scancel", job()});
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_THAT(result.err, HasSubstr("was cancelled"));
  EXPECT_THAT(result.out, HasSubstr("missing"));
  const auto rest = on_slurm(probing());
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("not computed again"));
  EXPECT_EQ(found().size(), 40u * 4u + 40u + 2u);
}

TEST_F(SlurmTest, ARequeuedJobGoesOn) {
  const auto alone = found_alone_in(24, 50);
  record(24, 50);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; })) << replaying->err();
  const std::string id = job();
  slurm({"scontrol", "requeue", id});
  // A requeued job waits for two minutes, unless somebody says otherwise.
  ASSERT_TRUE(eventually([&] {
    return slurm({"squeue", "--noheader", "--format=%T", "--jobs=" + id}).out == "PENDING\n";
  }));
  EXPECT_TRUE(eventually([&] {
    return replaying->err().find("was requeued") != std::string::npos;
  })) << replaying->err();
  slurm({"scontrol", "update", "jobid=" + id, "starttime=now"});
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, WhatSlurmRefusesOrNeverStartsIsOneLine) {
  record(2, 0);
  const auto refused = on_slurm({"--partition", "nope"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("Slurm refused the job: Invalid partition name specified"));
  const auto never = on_slurm({"--time", "100:00:00"});
  EXPECT_EQ(never.status, 1);
  EXPECT_THAT(never.err, HasSubstr("PartitionTimeLimit"));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, WhileThePartitionIsDownThatIsSaid) {
  record(2, 0);
  auto replaying = start_on_slurm({"--partition", "closed"});
  EXPECT_TRUE(eventually([&] {
    return replaying->err().find("waits since the partition is down (PartitionDown)") !=
           std::string::npos;
  })) << replaying->err();
  replaying->kill(SIGINT);
  EXPECT_EQ(replaying->wait().status, 130);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, AfterAKilledDispatcherTheJobEndsAndTheNextOneGoesOn) {
  const auto alone = found_alone_in(24, 50);
  record(24, 50);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return epochs_done() > 1; })) << replaying->err();
  replaying->kill(SIGKILL);
  replaying->wait();
  EXPECT_TRUE(eventually([&] { return job().empty(); })) << "the seats notice that nobody is there";
  const auto rest = on_slurm(probing());
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("not computed again"));
  EXPECT_EQ(found(), alone);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SlurmTest, InAnAllocationItIsAStep) {
  const auto alone = found_alone_in(6, 0);
  record(6, 0);
  const auto result = slurm(Words{"salloc", "--quiet", "--nodes=2", "--ntasks=2"} +
                            command(Words{"test", "--engine", "slurm"} + probing()));
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(found(), alone);
}

/// The node dies as a whole; the other one goes on in the same job.
class SlurmNodeTest : public SlurmTest {};

TEST_F(SlurmNodeTest, OneOfTwoNodesDiesAndEachValueIsThereOnce) {
  const auto alone = found_alone_in(60, 60);
  record(60, 60);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return hosts().size() == 2 && epochs_done() > 4; }))
      << replaying->err();
  kill_node("n2");
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_THAT(result.err, HasSubstr("was lost"));
  EXPECT_THAT(result.out, HasSubstr("verified: "));
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(bench_.damage(), IsEmpty());
  EXPECT_TRUE(nothing_is_left());
}

/// The one that runs the script of the job dies, and boots again: the job goes on, or another one.
TEST_F(SlurmNodeTest, TheNodeOfTheBatchScriptDies) {
  const auto alone = found_alone_in(60, 60);
  record(60, 60);
  auto replaying = start_on_slurm(probing());
  ASSERT_TRUE(eventually([&] { return hosts().size() == 2 && epochs_done() > 4; }))
      << replaying->err();
  kill_node("n1");
  EXPECT_TRUE(eventually([&] { return replaying->err().find("was lost") != std::string::npos; }))
      << replaying->err();
  revive_node("n1");
  const auto result = replaying->wait();
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(found(), alone);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

}  // namespace
}  // namespace flor::testing
