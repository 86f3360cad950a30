// Trainings on the device that FLOR_TEST_DEVICE names (the CPU where it names none) are replayed
// and resumed bit for bit: what the device draws, mixed precision, CUDA graphs, late copies, NCCL.
#include "programs/workbench.h"

#include <csignal>
#include <cstdlib>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

bool on_gpu() {
  const char* device = std::getenv("FLOR_TEST_DEVICE");
  return device && std::string(device).starts_with("cuda");
}

class Device : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string mode = GetParam();
    if (mode == "graph" && !(on_gpu() && FLOR_TEST_HAS_CUDA)) {
      GTEST_SKIP() << "a CUDA graph needs a GPU: FLOR_TEST_DEVICE=cuda, see scripts/gpu.sh";
    }
    if (mode == "ranks" && !(on_gpu() && FLOR_TEST_HAS_NCCL)) {
      GTEST_SKIP() << "NCCL needs a GPU: FLOR_TEST_DEVICE=cuda, see scripts/gpu.sh";
    }
  }
  ProcessOptions options() const {
    auto options = bench_.options();
    options.environment["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8";
    options.environment["RANK"] = "0";
    options.environment["WORLD_SIZE"] = "1";
    options.environment["MEETING"] =
        (bench_.home().parent_path() / ("meeting" + std::to_string(++meetings_))).string();
    options.timeout = std::chrono::seconds(150);
    return options;
  }
  ProcessResult run(const std::string& name, const Words& arguments,
                    const std::string& raise = "") const {
    auto with = options();
    if (!raise.empty()) with.environment["RAISE"] = raise;
    return bench_.run(name, arguments, with);
  }
  Words recording() const {
    return {"--flor", "test", "--flor_every", "1", "--kwargs", std::string("mode=") + GetParam()};
  }
  ProcessResult record() const {
    auto result = run("device_trainer", recording());
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }

  Workbench bench_;
  mutable int meetings_ = 0;
};

TEST_P(Device, ExecutedAgainItIsTheRecordBitForBit) {
  const auto recorded = record();
  for (const char* part : {"0/1", "1/3", "5/6"}) {
    SCOPED_TRACE(part);
    const auto replayed =
        run("device_trainer", {"--replay_flor", part, "--flor_probe", "train"});
    EXPECT_EQ(replayed.status, 0) << replayed.err;
    for (const auto& line : lines_of(replayed.out)) EXPECT_THAT(recorded.out, HasSubstr(line));
  }
}

TEST_P(Device, SkippedEpochsEndInTheirRecordedState) {
  const auto recorded = record();
  const auto replayed = run("device_trainer", {"--replay_flor"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(lines_of(replayed.out), lines_with(recorded.out, {"tail"}));
}

TEST_P(Device, AForgottenQuestionIsAnswered) {
  record();
  const auto replayed =
      run("device_trainer_hindsight", {"--replay_flor", "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(bench_.values("gradient", false).size(), 48u);
  EXPECT_EQ(bench_.values("weights", false).size(), 6u);
}

TEST_P(Device, KilledAndResumedItEndsInTheSameBits) {
  const auto whole = record();
  const auto killed = run("device_trainer", recording(), std::to_string(SIGKILL) + ":29:20000");
  EXPECT_EQ(killed.signal, SIGKILL) << killed.err;
  const auto resumed = run("device_trainer", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  ASSERT_FALSE(lines_of(resumed.out).empty()) << resumed.err;
  EXPECT_EQ(lines_of(resumed.out).back(), lines_of(whole.out).back());
}

TEST_P(Device, PreemptedInAnEpochItEndsInTheSameBits) {
  const auto whole = record();
  const auto preempted = run("device_trainer", recording(), std::to_string(SIGTERM) + ":29:2000");
  EXPECT_EQ(preempted.status, 75) << preempted.err;
  const auto resumed = run("device_trainer", {"--flor", "test", "--flor_resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  ASSERT_FALSE(lines_of(resumed.out).empty()) << resumed.err;
  EXPECT_EQ(lines_of(resumed.out).back(), lines_of(whole.out).back());
}

TEST_P(Device, WithoutFlagsItComputesTheSame) {
  const auto recorded = record();
  const auto plain =
      run("device_trainer", {"--kwargs", std::string("mode=") + GetParam()});
  EXPECT_EQ(plain.out, recorded.out);
}

INSTANTIATE_TEST_SUITE_P(Modes, Device,
                         ::testing::Values("plain", "bf16", "amp", "overlap", "graph", "ranks"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace flor::testing
