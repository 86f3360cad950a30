// The objects and locals that flor instrument registers and attaches.
#include "inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flor::instrument::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> attached(const Torch& parts) { return of(program(parts)).attached; }
std::vector<std::string> registered(const Torch& parts) { return of(program(parts)).registered; }

TEST(Carried, LocalsThatOutliveAnEpoch) {
  EXPECT_THAT(
      attached({.before = "double best = 9;",
                .last = "const double e = x.norm().item<double>(); if (e < best) best = e;"}),
      ElementsAre("best"));
  EXPECT_THAT(attached({.before = "int bad = 0;",
                        .last = "if (epoch == 1) bad = 0; else if (++bad > 2) break;"}),
              ElementsAre("bad"));
  EXPECT_THAT(attached({.before = "std::vector<double> all;",
                        .last = "all.push_back(1);",
                        .after = "std::printf(\"%zu\", all.size());"}),
              ElementsAre("all"));
  EXPECT_THAT(attached({.before = "double error = 0;",
                        .last = "error = x.norm().item<double>();",
                        .after = "std::printf(\"%f\", error);"}),
              ElementsAre("error"));
  EXPECT_THAT(attached({.before = "long steps = 0;", .step = "++steps;"}), ElementsAre("steps"));
}

TEST(Carried, LocalsOfAnEpochThatItsLoopLeaves) {
  EXPECT_THAT(attached({.each = "double sum = 0;",
                        .step = "sum += loss.item<double>();",
                        .last = "std::printf(\"%f\", sum / 10);"}),
              ElementsAre("sum"));
  EXPECT_THAT(attached({.each = "torch::Tensor seen;",
                        .step = "seen = x * 2;",
                        .last = "std::cout << seen.sum();"}),
              ElementsAre("seen"));
}

TEST(Carried, NotWhatEachIterationSetsOrNothingChanges) {
  const std::vector<Torch> all = {
      {.before = "double e;", .last = "e = x.norm().item<double>(); std::printf(\"%f\", e);"},
      {.each = "int k = 0;", .step = "++k;"},
      {.before = "const int batch = 4;", .step = "auto y = x.slice(0, 0, batch);"},
      {.before = "int batch = 4;", .step = "auto y = x.slice(0, 0, batch);"},
      {.before = "std::vector<int> sizes{1, 2};", .step = "for (int s : sizes) (void)s;"},
      {.before = "double sum = 0; sum += 1;", .after = "std::printf(\"%f\", sum);"},
  };
  for (const Torch& parts : all)
    EXPECT_THAT(attached(parts), IsEmpty()) << parts.before << parts.each;
}

TEST(Carried, ObjectsByTheirTypes) {
  EXPECT_THAT(registered({}), ElementsAre("net", "optimizer"));
  EXPECT_THAT(registered({.before = "torch::optim::StepLR scheduler(optimizer, 2, 0.5);",
                          .last = "scheduler.step();"}),
              ElementsAre("net", "optimizer", "scheduler"));
  EXPECT_THAT(
      registered({.before = "std::mt19937 random(1); std::normal_distribution<double> noise;",
                  .step = "const double d = noise(random); (void)d;"}),
      ElementsAre("net", "optimizer", "random", "noise"));
  EXPECT_THAT(
      registered({.before = "auto h = torch::zeros({2});", .step = "h.add_(1); (void)h.sum();"}),
      ElementsAre("net", "optimizer", "h"));
  EXPECT_THAT(registered({.before = "auto h = torch::zeros({2});",
                          .step = "auto k = torch::mse_loss(h, x);"}),
              ElementsAre("net", "optimizer"));
  EXPECT_THAT(
      registered({.top = "struct Own : torch::nn::Module { Own() : a(register_module(\"a\", "
                         "torch::nn::Linear(2, 2))) {} torch::Tensor forward(torch::Tensor t) "
                         "{ return a(t); } torch::nn::Linear a; };",
                  .before = "auto own = std::make_shared<Own>();",
                  .step = "own->forward(x);"}),
      ElementsAre("net", "optimizer", "*own"));
  EXPECT_THAT(registered({.top = "struct Mean { double m = 0; void save(std::ostream&) const; void "
                                 "load(std::istream&); void add(double d) { m += d; } };",
                          .before = "Mean mean;",
                          .step = "mean.add(1);"}),
              ElementsAre("net", "optimizer", "mean"));
  EXPECT_THAT(
      registered({.before =
                      "auto w = torch::zeros({2}).set_requires_grad(true); torch::optim::Adam "
                      "other(std::vector<torch::Tensor>{w}, 0.1);",
                  .step = "other.step(); (void)w.sum();"}),
      ElementsAre("net", "optimizer", "w", "other"));
}

TEST(Carried, ContainersOfModulesAreRegisteredHoweverTheyAreDeclared) {
  const std::string top = "struct NetImpl : torch::nn::Module {}; TORCH_MODULE(Net);";
  for (const char* before :
       {"std::vector<Net> nets(2);", "auto nets = std::vector<Net>{Net(), Net()};",
        "auto nets = std::vector<Net>(2);", "auto nets = std::array<Net, 2>{Net(), Net()};",
        "std::vector<torch::nn::Linear> nets;", "auto nets = std::map<int, Net>{{0, Net()}};",
        "auto nets = std::vector<std::shared_ptr<NetImpl>>{std::make_shared<NetImpl>()};"}) {
    const bool calls = std::string(before).find("Linear") != std::string::npos;
    const Instrumented result =
        of(program({.top = top,
                    .before = before,
                    .step = calls ? "for (auto& one : nets) one(x);" : "nets[0]->forward(x);"}));
    EXPECT_THAT(result.registered, ElementsAre("net", "optimizer", "nets")) << before;
    EXPECT_THAT(result.attached, IsEmpty()) << before;
    EXPECT_THAT(result.questions, IsEmpty()) << before;
  }
  for (const char* before :
       {"auto nets = std::array{Net(), Net()};", "auto nets = make_nets();",
        "std::vector nets{Net(), Net()};", "auto nets = std::make_pair(Net(), Net());"}) {
    const Instrumented result =
        of(program({.top = top, .before = before, .step = "nets[0]->forward(x);"}));
    EXPECT_THAT(result.registered, ElementsAre("net", "optimizer")) << before;
    ASSERT_EQ(result.questions.size(), 1u) << before;
    EXPECT_NE(result.questions[0].text.find("does 'nets'"), std::string::npos) << before;
  }
}

TEST(Carried, AcrossFunctionsThatTakeTheModelAndTheOptimizer) {
  const std::string text = R"(#include <torch/torch.h>
template <typename Loader>
double train(torch::nn::Linear& net, torch::optim::Optimizer& optimizer, Loader& loader) {
  double sum = 0;
  for (auto& batch : loader) {
    auto loss = net(batch.data).sum();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    sum += loss.template item<double>();
  }
  return sum;
}
int main() {
  torch::nn::Linear model(2, 1);
  torch::optim::SGD sgd(model->parameters(), 0.1);
  auto loader = torch::data::make_data_loader(data(), 4);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const double sum = train(model, sgd, *loader);
    std::printf("%f", sum);
  }
}
)";
  const Instrumented result = of(text);
  EXPECT_THAT(result.registered, ElementsAre("model", "sgd"));
  EXPECT_THAT(result.attached, ElementsAre("sum"));
  EXPECT_THAT(result.loops, UnorderedElementsAre("train.cpp:18 epoch", "train.cpp:5 train"));
}

}  // namespace
}  // namespace flor::instrument::testing
