// `flor sweep --engine slurm` by a real Slurm of several nodes on this machine, whose directory
// FLOR_TEST_SLURM names (scripts/test.sh --slurm starts one).
#include "cluster/slurm_nodes.h"
#include "sweep_fixture.h"

namespace flor::testing::sweep_slurm_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SweepSlurmTest : public OnSlurm<SweepTest> {
 protected:
  ProcessOptions plain_options() const override { return slowly(2000); }
  Words on_slurm(const std::string& name) const {
    return sweep(Words{name, "--engine", "slurm", "--nodes", "2", "--workers", "4", "--retries",
                       "1000", "-m", "mean:min"} +
                 thirty_two());
  }
  std::int64_t done(const std::string& name) const {
    std::int64_t count = 0;
    if (!has_begun(name)) return 0;
    for (const store::Run& run : runs()) count += run.state == store::RunState::finished ? 1 : 0;
    return count;
  }
  void expect_each_once(const std::string& name) {
    const auto table = this->table(name, {"-m", "mean:min"});
    ASSERT_THAT(table["points"], SizeIs(32));
    for (const auto& point : table["points"]) EXPECT_EQ(point["status"], "finished") << point;
    EXPECT_THAT(runs(), SizeIs(32)) << "each once, none lost";
    EXPECT_THAT(bench_.damage(), IsEmpty());
    const auto on_nodes = means(table);
    bench_.use_home(bench_.home().parent_path() / "here");
    EXPECT_EQ(run(Words{name} + thirty_two()).status, 0);
    EXPECT_EQ(means(this->table(name, {"-m", "mean:min"})), on_nodes);
  }
};

TEST_F(SweepSlurmTest, ThirtyTwoTrainingsOnTwoNodesAreEachRecordedOnce) {
  const auto result = Process(on_slurm("nodes"), options()).wait();
  EXPECT_EQ(result.status, 0) << result.err;
  expect_each_once("nodes");
  EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
}

TEST_F(SweepSlurmTest, ANodeThatDiesAndASweepThatIsInterruptedLoseNothing) {
  {
    Process sweeping(on_slurm("storm"), options());
    ASSERT_TRUE(soon([&] { return done("storm") >= 4; })) << sweeping.err();
    kill_node("n2");
    ASSERT_TRUE(soon([&] { return done("storm") >= 12; })) << sweeping.err();
    sweeping.kill(SIGINT);
    const auto result = sweeping.wait();
    EXPECT_EQ(result.status, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("flor sweep storm --resume goes on"));
  }
  revive_node("n2");
  wait_for("n2");
  EXPECT_TRUE(soon([&] { return jobs_of_slurm().empty(); }));
  const auto rest = Process(on_slurm("storm"), options()).wait();
  EXPECT_EQ(rest.status, 0) << rest.err;
  expect_each_once("storm");
}

}  // namespace
}  // namespace flor::testing::sweep_slurm_test
