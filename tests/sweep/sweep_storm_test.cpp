// Sweeps whose processes are killed at random instants: the sweep itself, its workers, the
// processes of its points, the recordings. In the end each point has one run, which is what it
// would be.
#include "sweep_fixture.h"

#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

namespace flor::testing::sweep_storm_test {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SweepStormTest : public SweepTest {
 protected:
  /// The processes of this sweep, but for the one that runs it.
  std::vector<pid_t> processes(pid_t but) const {
    std::vector<pid_t> found;
    const std::string mark = "FLOR_HOME=" + bench_.home().string();
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || pid == but) continue;
      std::ifstream in(entry.path() / "environ", std::ios::binary);
      const std::string environment(std::istreambuf_iterator<char>(in), {});
      if (environment.find(mark) != environment.npos) found.push_back(pid);
    }
    return found;
  }

  /// Runs the sweep until it has come to its end, with `kills` before. Some kills are of all that
  /// there is, some of one process.
  void storm(const Words& words, int kills) {
    for (int done = 0; done < kills;) {
      Process sweeping(sweep(words), slowly(6000));
      while (!sweeping.ended() && done < kills) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(std::uniform_int_distribution<int>(20, 400)(engine_)));
        ++done;
        if (std::uniform_int_distribution<int>(0, 3)(engine_) == 0) {
          sweeping.kill(std::bernoulli_distribution(0.7)(engine_) ? SIGKILL : SIGTERM);
          break;
        }
        const auto all = processes(sweeping.pid());
        if (all.empty()) continue;
        ::kill(all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(engine_)],
               SIGKILL);
      }
      const auto result = sweeping.wait();
      ASSERT_FALSE(result.timed_out) << result.err;
      if (result.status == 0) return;
      if (result.signal != 0) continue;
      ASSERT_THAT(result.status, ::testing::AnyOf(130, 5)) << result.err;
    }
  }

  std::mt19937 engine_{std::random_device()()};
};

TEST_F(SweepStormTest, ThirtyTwoTrainingsWithKillsAreEachRecordedOnceAndNoneIsLost) {
  const Words words =
      Words{"storm", "--workers", "3", "--retries", "1000", "-m", "mean:min"} + thirty_two();
  storm(words, 60);
  const auto last = run(words);
  EXPECT_EQ(last.status, 0) << last.err;
  const auto table = this->table("storm", {"-m", "mean:min"});
  ASSERT_THAT(table["points"], SizeIs(32));
  for (const auto& point : table["points"]) EXPECT_EQ(point["status"], "finished") << point;
  EXPECT_THAT(runs(), SizeIs(32)) << "each once, none lost";
  EXPECT_THAT(bench_.damage(), IsEmpty());

  const auto stormy = means(table);
  bench_.use_home(bench_.home().parent_path() / "calm");
  EXPECT_EQ(run(words).status, 0);
  EXPECT_EQ(means(this->table("storm", {"-m", "mean:min"})), stormy);
}

TEST_F(SweepStormTest, SeatsThatAreKilledLoseNoPoint) {
  const fs::path script = bench_.repository().root().parent_path() / "start.sh";
  std::ofstream(script) << "#!/bin/sh\nfor i in 1 2; do \"$@\" & done; wait\n";
  fs::permissions(script, fs::perms::owner_all);
  const Words words =
      Words{"seats", "--workers", "2", "--retries", "1000", "--engine", "run:" + script.string()} +
      descent({"rate=0.01,0.02,0.03,0.04,0.05,0.06", "later=0.0,0.1", "from=4"});
  auto options = slowly(6000);
  options.environment["FLOR_PATIENCE"] = "2";
  for (int i = 0; i < 3; ++i) {
    Process sweeping(sweep(words), options);
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(300, 1200)(engine_)));
    const auto all = processes(sweeping.pid());
    if (!all.empty()) ::kill(all[engine_() % all.size()], SIGKILL);
    sweeping.kill(i == 1 ? SIGINT : SIGKILL);
    sweeping.wait();
  }
  const auto last = run_process(sweep(words), options);
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_THAT(table("seats")["points"], SizeIs(12));
  EXPECT_THAT(runs(), SizeIs(12));
  for (const store::Run& run : runs()) EXPECT_EQ(run.state, store::RunState::finished);
  EXPECT_THAT(bench_.damage(), IsEmpty());
}

}  // namespace
}  // namespace flor::testing::sweep_storm_test
