// Ranks in processes of their own, which meet through gloo on loopback: saving together, dying,
// staying away; and the example `distributed`, which goes on with another number of ranks.
#include "programs/workbench.h"
#include "support/temporary_directory.h"

#include <flor/data/sample_audit.h>
#include <flor/save/atomic_directory.h>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

namespace flor {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::Words;

/// A port that nobody listened on a moment ago.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(socket, any, size) == 0 && ::getsockname(socket, any, &size) == 0;
  ::close(socket);
  return bound ? ntohs(address.sin_port) : 29'507;
}

class ProcessGroupTest : public ::testing::Test {
 protected:
  const fs::path& out() const { return directory_.path(); }
  std::vector<testing::ProcessResult> run(int world, const std::string& strategy, int rounds,
                                          const std::string& what = "") const {
    const std::string port = std::to_string(free_port());
    std::vector<std::unique_ptr<testing::Process>> processes;
    for (int rank = 0; rank < world; ++rank) {
      Words arguments{
          FLOR_RANKS, std::to_string(rank),  std::to_string(world), port, out().string(),
          strategy,   std::to_string(rounds)};
      if (!what.empty()) arguments.push_back(what);
      processes.push_back(std::make_unique<testing::Process>(arguments, testing::ProcessOptions{}));
    }
    std::vector<testing::ProcessResult> results;
    for (const auto& process : processes) results.push_back(process->wait());
    return results;
  }
  std::size_t files_in(const std::string& name) const {
    const auto entries = fs::directory_iterator(out() / name);
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }

 private:
  testing::TemporaryDirectory directory_;
};

TEST_F(ProcessGroupTest, TwoToFourRanksSaveTogetherAndGatherNumbers) {
  for (const int world : {2, 3, 4}) {
    for (const auto& result : run(world, "sync_any", 3)) {
      EXPECT_EQ(result.status, 0) << result.out << result.err;
      EXPECT_THAT(result.out, HasSubstr(std::to_string(world) + " ranks, mean "));
    }
    EXPECT_EQ(files_in("m.latest_checkpoint"), static_cast<std::size_t>(world));
  }
  // Numbers go on, and the first of each three was forced by one of the ranks.
  EXPECT_TRUE(fs::exists(out() / "m_checkpoint_6_force"));
  EXPECT_EQ(latest_checkpoint(out(), "m")->filename(), "m_checkpoint_8");
}

TEST_F(ProcessGroupTest, AllRanksHaveToWantAForcedOneWithSyncAll) {
  for (const auto& result : run(2, "sync_all", 2)) EXPECT_EQ(result.status, 0) << result.out;
  EXPECT_TRUE(fs::exists(out() / "m_checkpoint_0"));
}

TEST_F(ProcessGroupTest, AsynchronousRanksFindTheNewestCheckpointThatAllHave) {
  for (const auto& result : run(2, "async", 3)) {
    EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_THAT(result.out, HasSubstr("common 2"));
  }
  EXPECT_TRUE(fs::exists(out() / "m_rank_1.latest_checkpoint" / "rank1"));
}

TEST_F(ProcessGroupTest, DifferentStrategiesAreAnErrorOnAllRanks) {
  for (const auto& result : run(2, "sync_any", 1, "differ")) {
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, HasSubstr("error: rank 1 saves with other options than rank 0"));
  }
}

TEST_F(ProcessGroupTest, ARankThatStaysAwayOrDiesIsAnErrorWithinTheDeadline) {
  for (const char* what : {"hang", "die"}) {
    const auto results = run(3, "sync_any", 3, what);
    for (std::size_t rank : {0, 1}) {
      EXPECT_EQ(results[rank].status, 1) << what << results[rank].err;
      EXPECT_THAT(results[rank].out, HasSubstr("did not answer within 1.0")) << what;
    }
    // What was complete is there, and the next save works.
    EXPECT_EQ(files_in("m.latest_checkpoint"), 3u) << what;
    for (const auto& result : run(2, "sync_any", 2)) EXPECT_EQ(result.status, 0) << result.out;
    EXPECT_EQ(files_in("m.latest_checkpoint"), 2u) << what;
  }
}

TEST_F(ProcessGroupTest, ANumberThatOneRankAloneGatheredIsNamed) {
  for (const auto& result : run(2, "sync_any", 1, "metrics")) {
    EXPECT_THAT(result.out, HasSubstr("error: rank 0 gathered no max 'extra', but rank 1 did"));
  }
}

// The example -------------------------------------------------------------------------------------

class DistributedExample : public ::testing::Test {
 protected:
  testing::ProcessOptions options(int rank, int world, int port) const {
    auto options = bench_.options();
    options.environment["RANK"] = std::to_string(rank);
    options.environment["WORLD_SIZE"] = std::to_string(world);
    options.environment["MASTER_PORT"] = std::to_string(port);
    options.environment["OMP_NUM_THREADS"] = "1";
    return options;
  }
  std::vector<std::unique_ptr<testing::Process>> start(int world) const {
    const int port = free_port();
    std::vector<std::unique_ptr<testing::Process>> processes;
    for (int rank = 0; rank < world; ++rank) {
      processes.push_back(std::make_unique<testing::Process>(
          Words{testing::program("distributed").string(), "--out", (out_ / "out").string(),
                "--flor", "distributed", "--kwargs", "pictures=600", "epochs=3", "batch=8",
                "every=5"},
          options(rank, world, port)));
    }
    return processes;
  }
  std::vector<std::string> records() const {
    const auto opened = bench_.store();
    auto runs = opened->catalog().runs();
    std::ranges::reverse(runs);  // oldest first
    std::vector<std::string> texts;
    for (const auto& run : runs) {
      for (const auto& value : opened->catalog().values({.run = run.id, .names = {"samples"}})) {
        texts.push_back(std::get<std::string>(value.value));
      }
    }
    return texts;
  }
  testing::Workbench bench_;
  testing::TemporaryDirectory out_;
};

TEST_F(DistributedExample, KilledWithTwoRanksItGoesOnWithTwoAndOneAndThenWithThree) {
  int kills = 0;
  for (const int world : {2, 2, 1}) {
    const auto processes = start(world);
    // Until a checkpoint inside an epoch is there that was not there before.
    const auto before = latest_checkpoint(out_ / "out", "model");
    for (int i = 0; i < 400 && latest_checkpoint(out_ / "out", "model") == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    for (const auto& process : processes) process->kill(SIGKILL);
    for (const auto& process : processes) kills += process->wait().signal == SIGKILL;
  }
  EXPECT_EQ(kills, 5);
  for (const auto& process : start(3)) {
    const auto result = process->wait();
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("of 3 goes on in epoch"));
  }
  const auto audits = audit_samples(records());
  ASSERT_EQ(audits.size(), 3u);
  for (const EpochAudit& audit : audits) {
    EXPECT_EQ(audit.once, 500u) << audit.epoch;
    EXPECT_TRUE(audit.exact()) << audit.epoch;
    EXPECT_EQ(audit.known, audit.world) << audit.epoch;
  }
  EXPECT_EQ(audits[2].world, 3u);
}

}  // namespace
}  // namespace flor
