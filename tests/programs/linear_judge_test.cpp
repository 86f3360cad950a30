// The example `linear` is judged on its test set while it trains.
#include "workbench.h"

#include <nlohmann/json.hpp>

namespace flor::testing::linear_judge_test {
namespace {

using nlohmann::json;
using ::testing::SizeIs;

TEST(LinearJudge, FindsTheAccuracyThatTheTrainingFoundItself) {
  const Workbench bench;
  ProcessOptions options = bench.options();
  options.environment["LINEAR_PICTURES"] = "600";
  const auto flor = [&](const Words& arguments) {
    return run_process(Words{FLOR_CLI} + arguments, options);
  };
  const Words watch{"watch",
                    "--experiment",
                    "test",
                    "--as",
                    "pt",
                    "--evaluator",
                    std::string(FLOR_LINEAR_JUDGE) + ":test_set"};
  // It has to know the experiment before: what is there when it begins is left alone.
  ASSERT_EQ(flor(watch + Words{"--until-idle"}).status, 0);
  const auto training = bench.start("linear", {"--flor", "test", "--flor_every", "1", "--kwargs",
                                               "epochs=4", "pictures=600", "hidden=64"});
  const auto judged = flor(watch + Words{"--until-idle"});
  EXPECT_EQ(judged.status, 0) << judged.err;
  EXPECT_EQ(training->wait().status, 0);
  const auto rest = flor(watch + Words{"--until-idle"});
  EXPECT_EQ(rest.status, 0) << rest.err;
  const auto answer = flor({"query", "accuracy", "test_set.accuracy", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.err << judged.out << judged.err;
  const auto rows = json::parse(answer.out)["rows"];
  ASSERT_THAT(rows, SizeIs(4));
  for (const auto& row : rows) {
    EXPECT_NEAR(row["values"]["accuracy"].get<double>(),
                row["values"]["test_set.accuracy"].get<double>(), 1e-5);
  }
}

}  // namespace
}  // namespace flor::testing::linear_judge_test
