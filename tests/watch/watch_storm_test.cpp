// Evaluators, workers and watches are killed at random, again and again: every checkpoint has one
// result in the end, and nobody is left.
#include "store/queue_fixture.h"
#include "watch_fixture.h"

#include <random>

namespace flor::testing {
namespace {

using std::chrono::microseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class WatchStormTest : public WatchTest, public ::testing::WithParamInterface<Queue> {
 protected:
  void SetUp() override {
    if (!url_) GTEST_SKIP() << "redis-server is not installed";
  }
  Words queue() const override { return url_->empty() ? Words() : Words{"--queue", *url_}; }

  static constexpr int kWatches = 2;

  std::unique_ptr<Process> start(const std::string& judge) {
    return std::make_unique<Process>(
        watch(judge, {"--existing", "--workers", "2", "--retries", "1000000"}), options());
  }

  /// One of them: a watch, a process below, or everything.
  void kill_somebody(std::vector<std::unique_ptr<Process>>& watches) {
    const auto all = processes_with(mark());
    if (all.empty()) return;
    switch (random_() % 4) {
      case 0:
        for (const pid_t pid : all) ::kill(pid, SIGKILL);
        break;
      case 1:
        watches[random_() % watches.size()]->kill(SIGKILL);
        break;
      default:
        ::kill(all[random_() % all.size()], SIGKILL);
    }
  }

  void replace_ended(std::vector<std::unique_ptr<Process>>& watches, const std::string& judge) {
    for (auto& watcher : watches) {
      if (watcher->ended()) watcher = start(judge);
    }
  }

  void storm(const std::string& judge, int kills) {
    std::vector<std::unique_ptr<Process>> watches;
    for (int i = 0; i < kWatches; ++i) watches.push_back(start(judge));
    for (int i = 0; i < kills; ++i) {
      publish(i);
      std::this_thread::sleep_for(microseconds(random_() % 150'000));
      kill_somebody(watches);
      replace_ended(watches, judge);
    }
    EXPECT_TRUE(soon([&] {
      replace_ended(watches, judge);  // the last kill may be noticed late
      return count("done") == static_cast<std::size_t>(kills);
    }));
    for (auto& watcher : watches) {
      watcher->kill(SIGTERM);
      const auto result = watcher->wait();
      // It may just have been started, and not listen yet; or the last kill was noticed late.
      EXPECT_TRUE(result.status == 130 || result.signal == SIGTERM || result.signal == SIGKILL)
          << "status " << result.status << ", signal " << result.signal
          << (result.timed_out ? ", timed out: " : ": ") << result.err;
    }
    EXPECT_TRUE(soon([&] { return processes_with(mark()).empty(); }));
    const auto all = jobs();
    ASSERT_THAT(all, SizeIs(kills)) << "each checkpoint is one job";
    for (const auto& job : all) {
      EXPECT_EQ(job["state"], "done") << job;
      EXPECT_EQ(job["result"]["n"], 1) << job;
    }
    const auto found = judged();
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), static_cast<std::size_t>(kills));
  }

  std::string slow_program() {
    return script("judge.sh", "#!/bin/sh\nsleep 0.02\necho \"$1\" >> judged\necho '{\"n\": 1}'\n");
  }
  std::string slow_python() {
    return script("judge.py",
                  "import time\ndef f(path):\n    time.sleep(0.02)\n"
                  "    open('judged', 'a').write(path + '\\n')\n    return {'n': 1}\n") +
           ":f";
  }

  std::optional<std::string> url_ = empty_queue(GetParam());
  std::minstd_rand random_{7};
};

TEST_P(WatchStormTest, EveryCheckpointHasOneResultWhoeverIsKilled) { storm(slow_program(), 15); }
TEST_P(WatchStormTest, EveryCheckpointHasOneResultOfPythonWhoeverIsKilled) {
  storm(slow_python(), 10);
}

INSTANTIATE_TEST_SUITE_P(Queues, WatchStormTest, kAllQueues, queue_name);

class WatchStormOftenTest : public WatchStormTest {};
INSTANTIATE_TEST_SUITE_P(Queues, WatchStormOftenTest, kAllQueues, queue_name);
TEST_P(WatchStormOftenTest, EveryCheckpointHasOneResultWhoeverIsKilled) {
  storm(slow_program(), 200);
}
TEST_P(WatchStormOftenTest, EveryCheckpointHasOneResultOfPythonWhoeverIsKilled) {
  storm(slow_python(), 200);
}

}  // namespace
}  // namespace flor::testing
