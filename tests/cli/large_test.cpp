// A store with many runs and values: everything still comes out, and in order.
#include "cli/fixture.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace flor::testing {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;

/// 30,000 transactions wait for a disk for minutes: the store lies in memory where there is room.
class LargeTest : public CliTest {
 protected:
  static void SetUpTestSuite() {
    std::error_code error;
    const auto space = std::filesystem::space("/dev/shm", error);
    if (error || space.available < (std::uintmax_t{512} << 20)) return;
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", "/dev/shm", 1);
  }
  static void TearDownTestSuite() {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  static inline std::string before_;
};

TEST_F(LargeTest, ListsTenThousandRunsAndAMillionValues) {
  constexpr int kRuns = 10'000, kEpochs = 100, kSteps = 10'000;
  store::NewRun start;
  start.experiment = "many";
  start.environment = {{"host", "node1"}, {"threads", "2"}};
  start.command = {"./train", "--flor", "many"};
  std::string last_key;
  std::int64_t last = 0;
  for (int i = 0; i < kRuns; ++i) {
    start.started_us = 1'700'000'000'000'000 + i;
    const store::Run run = catalog().add_run(start);
    last = run.id;
    last_key = run.key;
    catalog().add_values(run.id, std::vector{value("loss", i, 0)});
    catalog().finish_run(run.id, start.started_us + 1, false, "");
  }
  std::vector<store::Value> values;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    values.clear();
    for (int step = 0; step < kSteps; ++step) {
      values.push_back(value("step_loss", epoch + 1e-4 * step, epoch, step));
    }
    values.push_back(value("accuracy", epoch, epoch));
    catalog().add_values(last, values);
  }
  const auto lines = flor({"list", "--all"}).lines();
  ASSERT_THAT(lines, SizeIs(kRuns + 1));
  EXPECT_THAT(lines[1], StartsWith(last_key.substr(0, 8)));
  EXPECT_THAT(flor({"list", "-c", "loss", "--sort", "loss", "-n", "3"}).lines()[3],
              ::testing::EndsWith("     2"));
  const auto rows = flor({"query", "step_loss", "accuracy", "--csv"}).lines();
  ASSERT_THAT(rows, SizeIs(kEpochs * kSteps + 1));
  EXPECT_THAT(rows.back(),
              ::testing::EndsWith(",epoch/train,100,9999,9999,0,100.9999,100,recorded,recorded"));
}

}  // namespace
}  // namespace flor::testing
