// Which values the sources prove, by what a new log statement reads; and when they are too many to
// be analysed.
#include "sources/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flor::sources {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kProgram = R"(#include <torch/torch.h>
struct Meter {
  void add(double x) { total += x; }
  double mean() const { return total / 10; }
  void save(flor::StateWriter& writer) const { writer.value("total", total); }
  double total = 0;
};
struct Net : torch::nn::Module {
  Net() { fc = register_module("fc", torch::nn::Linear(4, 2)); }
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  torch::nn::Linear fc{nullptr};
};
struct Bounds {
  double low;
  torch::Tensor high;
};
struct Point {
  double x, y;
};
Bounds bounds() { return {1, torch::ones({2})}; }
const std::vector<Point> kPoints = {{1, 2}, {3, 4}};
constexpr double kScale = 0.5;
double square(double x) { return x * x; }
int main(int argc, char** argv) {
  auto session = flor::init(argc, argv);
  const double lr = flor::arg("lr", 0.1);
  const auto width = flor::arg("width", 16);
  double rate = 0.1, unkept = 0;
  int64_t steps = 0;
  const auto [low, high] = bounds();
  Net net;
  Meter meter;
  torch::Tensor w = torch::zeros({4});
  std::vector<double> history;
  std::string phase = "warm";
  void* handle = open_device();
  torch::optim::SGD optimizer(net.parameters(), lr);
  auto state = flor::checkpoints(net, optimizer, w, meter, rate, steps, history, phase);
  for (int epoch : flor::loop("epoch", 5)) {
    for (int i : flor::loop("train", 10)) {
      w -= rate * w;
      meter.add(1);
      ++steps;
      unkept += 1;
      touch(handle);
      optimizer.step();
    }
    rate *= 0.9;
    history.push_back(rate);
    phase = "hot";
    //ASK
  }
}
)";

Analysis asked_about(const std::string& line, std::size_t work_max = Effects::kWorkMax) {
  const std::string before = kProgram;
  std::string now = before;
  now.replace(now.find("//ASK"), 5, line);
  AnalysisInput input;
  input.changed.push_back({"train.cpp", before, now});
  input.program = "/project/train.cpp";
  input.nested = {"train"};
  input.main = {"epoch"};
  return Analysis(std::move(input), work_max);
}

TEST(Proof, CoversWhatIsRegisteredConstantOrOfTheLoop) {
  for (const std::string value :
       {"rate", "steps", "2 * rate + steps", "square(rate)", "std::sqrt(rate)", "rate * kScale",
        "w", "w.norm()", "w.norm().item<double>()", "w[0].item<double>()", "w.mean() * rate",
        "(w * w).sum()", "meter.mean()", "meter.total", "history.size()", "history.back()",
        "history[0]", "phase", "net.fc->weight.norm()", "net.fc->weight.abs().max().item<double>()",
        "net.parameters().size()", "kScale", "0.25", "lr", "lr * rate", "width", "epoch",
        "epoch * rate", "static_cast<double>(epoch) / 5", "epoch > 2 ? rate : lr",
        "std::string(\"x\")", "std::max(rate, lr)", "low", "high.sum()", "kPoints[0].x",
        "kPoints.size()"}) {
    const Analysis analysis = asked_about("flor::log(\"q\", " + value + ");");
    EXPECT_TRUE(analysis.proof().proven) << value << ": " << analysis.proof().why_not;
    EXPECT_THAT(analysis.touched(), IsEmpty())
        << value << ": " << analysis.touched().front().why;
    EXPECT_THAT(analysis.walk(), IsEmpty()) << value;
  }
}

TEST(Proof, CoversStatementsAroundTheLog) {
  for (const std::string lines :
       {"const double twice = 2 * rate; flor::log(\"q\", twice);",
        "if (rate < 0.05) flor::log(\"q\", rate);",
        "for (double x : history) flor::log(\"q\", x);",
        "double sum = 0; for (double x : history) sum += x; flor::log(\"q\", sum);",
        "{ torch::NoGradGuard no_grad; flor::log(\"q\", w.norm()); }"}) {
    const Analysis analysis = asked_about(lines);
    EXPECT_TRUE(analysis.proof().proven) << lines << ": " << analysis.proof().why_not;
  }
}

TEST(Proof, DoesNotCoverWhatTheSourcesDoNotShow) {
  for (const std::string value : {"read_device(handle)", "peek(&handle)"}) {
    EXPECT_FALSE(asked_about("flor::log(\"q\", " + value + ");").proof().proven) << value;
  }
  // The loops that leave it are executed: then it is.
  const Analysis left = asked_about("flor::log(\"q\", unkept);");
  EXPECT_EQ(left.touched().size(), 1u);
  EXPECT_THAT(left.walk(), HasSubstr("'unkept'"));
  EXPECT_FALSE(asked_about("rate *= 0.5; flor::log(\"q\", rate);").proof().proven);
}

TEST(Proof, OfSourcesThatAreTooManyExecutesEverything) {
  const Analysis analysis = asked_about("flor::log(\"q\", rate);", 10);
  EXPECT_FALSE(analysis.proof().proven);
  EXPECT_EQ(analysis.proof().why_not, "the sources are too many to be analysed");
  ASSERT_EQ(analysis.touched().size(), 1u);
  EXPECT_EQ(analysis.touched().front().why,
            "train.cpp:51 logs \"q\", and the sources are too many to find out what that reads");
  EXPECT_THAT(analysis.walk(), HasSubstr("the sources are too many"));
}

/// However far the analysis comes: it says less, never something else.
TEST(Proof, IsGivenUpAtAnyPoint) {
  const auto whole = asked_about("flor::log(\"q\", unkept);");
  for (std::size_t work = 1; work < 1'000'000; work += work / 3 + 1) {
    const Analysis analysis = asked_about("flor::log(\"q\", unkept);", work);
    ASSERT_EQ(analysis.touched().size(), 1u) << work;
    EXPECT_THAT(analysis.walk(), Not(IsEmpty())) << work;
  }
  EXPECT_THAT(whole.touched().front().why, HasSubstr("'unkept'"));
}

}  // namespace
}  // namespace flor::sources
