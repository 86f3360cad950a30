// A store with many runs and values: everything still comes out, and in order.
#include "cli/fixture.h"

#include <gmock/gmock.h>

namespace flor::testing {
namespace {

using ::testing::SizeIs;
using ::testing::StartsWith;

class LargeTest : public CliTest {};

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
  const auto lines = flor({"list"}).lines();
  ASSERT_THAT(lines, SizeIs(kRuns + 1));
  EXPECT_THAT(lines[1], StartsWith(last_key.substr(0, 8)));
  EXPECT_THAT(flor({"list", "-c", "loss", "--sort", "loss", "-n", "3"}).lines()[3],
              ::testing::EndsWith("     2"));
  const auto rows = flor({"query", "step_loss", "accuracy", "--csv"}).lines();
  ASSERT_THAT(rows, SizeIs(kEpochs * kSteps + 1));
  EXPECT_THAT(rows.back(), ::testing::EndsWith(",epoch/train,100,9999,,0,100.9999,100,recorded"));
}

}  // namespace
}  // namespace flor::testing
