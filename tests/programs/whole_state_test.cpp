// State comes back whole: gradients, equal keys, shared memory, empty tensors and what was drawn
// before the loops, in a replay and after a resume.
#include "workbench.h"

#include <csignal>

namespace flor::testing::whole_state_test {
namespace {

using ::testing::HasSubstr;

class WholeState : public ::testing::Test {
 protected:
  ProcessResult run(const Words& arguments, int dies_at = 0) const {
    auto options = bench_.options();
    if (dies_at > 0) {
      options.environment["RAISE"] =
          std::to_string(SIGKILL) + ":" + std::to_string(dies_at) + ":30000";
    }
    return bench_.run("whole_state", arguments, options);
  }
  void expect_replays(const ProcessResult& recorded) const {
    const auto executed =
        replay_segments(bench_, "whole_state", {.count = 2, .flags = {"--flor_probe", "train"}});
    EXPECT_EQ(without_start(executed.out), without_start(lines_of(recorded.out)));
    const auto skipped = replay_segments(bench_, "whole_state", {.count = 2, .flags = {}});
    EXPECT_EQ(without_start(skipped.out), lines_with(recorded.out, {"tail"}));
    for (const auto& replays : {executed, skipped}) {
      for (const auto& result : replays.results) {
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr("verified: "));
        EXPECT_EQ(start(result), start(recorded));
      }
    }
  }
  static std::vector<std::string> start(const ProcessResult& result) {
    return lines_with(result.out, {"start"});
  }
  static std::vector<std::string> without_start(std::vector<std::string> lines) {
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("start"); });
    return lines;
  }
  Workbench bench_;
};

TEST_F(WholeState, IsThatOfTheRecordInEverySegmentOfAReplay) {
  expect_replays(bench_.record("whole_state"));
}

TEST_F(WholeState, IsThatOfAnUninterruptedRunAfterAKillAnywhere) {
  const auto whole = run({"--flor", "whole", "--flor_every", "1"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  for (const int step : {7, 15}) {
    SCOPED_TRACE(step);
    run({"--flor", "test", "--flor_every", "1"}, step);
    const auto resumed = run({"--flor", "test", "--flor_resume"});
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(lines_with(resumed.out, {"tail"}).back(), lines_with(whole.out, {"tail"}).back());
  }
}

TEST_F(WholeState, OfUnseededGeneratorsIsThatOfTheRecordBeforeTheLoops) {
  const Words unseeded{"--kwargs", "seeded=false"};
  const auto other = bench_.record("whole_state", unseeded);
  const auto recorded = bench_.record("whole_state", unseeded);
  ASSERT_NE(start(other), start(recorded)) << "not unseeded";
  expect_replays(recorded);
}

TEST_F(WholeState, OfGeneratorsThatWereUsedBeforeFlorWasIsThatOfTheRecord) {
  const auto recorded = bench_.record("whole_state", {"early", "--kwargs", "seeded=false"});
  const auto replayed = bench_.replay("whole_state", {"early"});
  EXPECT_EQ(start(replayed), start(recorded));
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
}

TEST_F(WholeState, OfUnseededGeneratorsGoesOnAfterAKill) {
  const auto killed = run({"--flor", "test", "--flor_every", "1", "--kwargs", "seeded=false"}, 14);
  const auto resumed = run({"--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(start(resumed), start(killed));
  const auto replayed = bench_.replay("whole_state");
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(start(replayed), start(killed));
  EXPECT_EQ(lines_with(replayed.out, {"tail"}).back(), lines_with(resumed.out, {"tail"}).back());
}

}  // namespace
}  // namespace flor::testing::whole_state_test
