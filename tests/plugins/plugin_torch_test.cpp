// Plug-ins for programs that use libtorch.
#include "programs/workbench.h"

#include <cmath>
#include <fstream>
#include <iterator>

namespace flor::testing {
namespace {

using ::testing::HasSubstr;

std::string plugin(const std::string& name) {
  return std::string(FLOR_TEST_PLUGINS) + "/" + name + ".so";
}

TEST(TorchPlugin, FindsWhatTheProgramLoggedBitForBit) {
  const Workbench bench;
  bench.record("learner_hindsight");
  const auto replayed = bench.replay("learner", {"--flor_plugin", plugin("digest")});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  // "digest" and the tensor "mean", which the recording logged itself, of 6 epochs.
  EXPECT_THAT(replayed.err, HasSubstr("verified: 12 of 12 recomputed values equal the record; no new"));
}

TEST(TorchPlugin, AMetricThatWasNeverLoggedIsTheSameByWorkersAsInOneProcess) {
  const Workbench bench, other;
  for (const Workbench* each : {&bench, &other}) each->record("learner");
  ASSERT_EQ(bench.replay("learner", {"--flor_plugin", plugin("digest")}).status, 0);
  const auto workers =
      run_process({FLOR_CLI, "replay", "test", "--workers", "2", "--plugin", plugin("digest")},
                  other.options());
  ASSERT_EQ(workers.status, 0) << workers.err;
  const auto alone = bench.values("digest"), shared = other.values("digest");
  ASSERT_EQ(alone.size(), 6u);
  ASSERT_EQ(shared.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(real(alone[i]), real(shared[i]));
}

TEST(TorchPlugin, NothingThatItDoesChangesTheReplay) {
  const Workbench bench;
  const auto recorded = bench.record("learner");
  const auto replayed =
      bench.replay("learner", {"--flor_plugin", plugin("meddler"), "--flor_probe", "train"});
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_EQ(replayed.out, recorded.out);
  EXPECT_THAT(replayed.err, HasSubstr("verified: "));
  EXPECT_THAT(replayed.err, ::testing::Not(HasSubstr("random generators")));
  EXPECT_EQ(bench.values("weight").size(), 6u);
  EXPECT_EQ(bench.values("noise").size(), 12u);
}

TEST(TorchPlugin, IsBuiltWithTheLibtorchOfTheProgram) {
  const Workbench bench;
  bench.record("learner");
  std::ifstream in(plugin("digest"), std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  const std::string mark = "flor-probe-libtorch=";
  content[content.find(mark) + mark.size()] = '9';
  bench.repository().write("other.so", content);
  const auto replayed = bench.replay("learner", {"--flor_plugin", "other.so"});
  EXPECT_EQ(replayed.status, 2);
  EXPECT_THAT(replayed.err, SaysOnce("it was built with libtorch 9"));
}

#ifdef FLOR_WEIGHT_NORMS
TEST(TorchPlugin, TheExampleAsksTheExample) {
  const Workbench bench;
  const auto recorded = run_process({FLOR_LINEAR, "--flor", "test", "--flor_every", "1", "--kwargs",
                                     "epochs=3", "pictures=300", "hidden=16"},
                                    bench.options());
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const auto asked =
      run_process({FLOR_CLI, "replay", "test", "--plugin", FLOR_WEIGHT_NORMS}, bench.options());
  EXPECT_EQ(asked.status, 0) << asked.err;
  double sum = 0;
  for (const char* name : {"1.weight", "1.bias", "4.weight", "4.bias", "7.weight", "7.bias"}) {
    const auto norms = bench.values(std::string("norm ") + name);
    ASSERT_EQ(norms.size(), 3u) << name;
    sum += real(norms[2]) * real(norms[2]);
  }
  EXPECT_NEAR(real(bench.values("norm").at(2)), std::sqrt(sum), 1e-9);
}
#endif

}  // namespace
}  // namespace flor::testing
