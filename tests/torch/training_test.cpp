// A training goes on bit for bit the same after its state was restored, whatever the optimizer.
#include "core_double.h"
#include "support/memory_state.h"

#include <flor/torch.h>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/enum.h>
#include <torch/nn/functional/dropout.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim.h>
#include <torch/serialize/archive.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace training_test {
namespace {

namespace optim = torch::optim;
using flor::testing::MemoryState;

struct NetImpl : torch::nn::Module {
  NetImpl() {
    hidden = register_module("hidden", torch::nn::Linear(6, 8));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    output = register_module("output", torch::nn::Linear(8, 2));
  }
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor activated = at::relu(norm(hidden(input)));
    return output(at::dropout(activated, 0.3, is_training()));
  }
  torch::nn::Linear hidden{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Linear output{nullptr};
};
TORCH_MODULE(Net);

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(std::vector<at::Tensor>)>;

template <typename Optimizer, typename Options>
MakeOptimizer make(Options options) {
  return [options](std::vector<at::Tensor> parameters) {
    return std::make_unique<Optimizer>(std::move(parameters), options);
  };
}

/// A program that trains on data it draws itself.
struct Training {
  explicit Training(const MakeOptimizer& make_optimizer)
      : optimizer(make_optimizer(net->parameters())), scheduler(*optimizer, 3, 0.5) {}

  double step() {
    const at::Tensor order = at::randperm(32, at::kLong);
    const at::Tensor batch = at::randn({32, 6}).index_select(0, order);
    const at::Tensor labels = at::randn({32, 2});
    const auto closure = [&] {
      optimizer->zero_grad();
      const at::Tensor loss = at::mse_loss(net(batch), labels);
      loss.backward();
      return loss;
    };
    return optimizer->step(closure).item<double>();
  }
  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      losses.push_back(step());
      scheduler.step();
    }
    return losses;
  }

  void save(MemoryState& state) const {
    state.save("model", net);
    state.save("optimizer", *optimizer);
    state.save("scheduler", scheduler);
    for (const auto& slot : flor::detail::adapter().ambient) {
      slot.save(flor::StateWriter(state, slot.name));
    }
  }
  void load(MemoryState& state) {
    state.load("model", net);
    state.load("optimizer", *optimizer);
    state.load("scheduler", scheduler);
    for (const auto& slot : flor::detail::adapter().ambient) {
      slot.load(flor::StateReader(state, slot.name));
    }
    state.finish();
  }

  Net net;
  std::unique_ptr<optim::Optimizer> optimizer;
  optim::StepLR scheduler;
};

struct Case {
  const char* name;
  MakeOptimizer make_optimizer;
};

std::vector<Case> cases() {
  return {
      {"Sgd", make<optim::SGD>(optim::SGDOptions(0.1))},
      {"SgdMomentum", make<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).weight_decay(1e-2))},
      {"SgdDampening", make<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).dampening(0.1))},
      {"SgdNesterov", make<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true))},
      {"Adam", make<optim::Adam>(optim::AdamOptions(1e-2))},
      {"AdamAmsgrad", make<optim::Adam>(optim::AdamOptions(1e-2).amsgrad(true).weight_decay(0.1))},
      {"AdamW", make<optim::AdamW>(optim::AdamWOptions(1e-2).weight_decay(0.1))},
      {"AdamWAmsgrad", make<optim::AdamW>(optim::AdamWOptions(1e-2).amsgrad(true))},
      {"RMSprop", make<optim::RMSprop>(optim::RMSpropOptions(1e-2))},
      {"RMSpropCentered",
       make<optim::RMSprop>(
           optim::RMSpropOptions(1e-2).centered(true).momentum(0.9).weight_decay(0.1))},
      {"Adagrad",
       make<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.1).weight_decay(1e-2))},
      {"AdagradInitial",
       make<optim::Adagrad>(optim::AdagradOptions(0.1).initial_accumulator_value(0.5))},
      {"LBFGS", make<optim::LBFGS>(optim::LBFGSOptions(0.1).max_iter(4).history_size(5))},
      {"LBFGSWolfe",
       make<optim::LBFGS>(
           optim::LBFGSOptions(1).max_iter(4).history_size(3).line_search_fn("strong_wolfe"))},
  };
}

class EveryOptimizer : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, EveryOptimizer, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(EveryOptimizer, GoesOnTheSameInAFreshProgram) {
  Training recorded(GetParam().make_optimizer);
  recorded.steps(4);
  MemoryState middle;
  recorded.save(middle);
  const std::vector<double> losses = recorded.steps(5);
  MemoryState end;
  recorded.save(end);

  Training fresh(GetParam().make_optimizer);
  fresh.load(middle);
  MemoryState restored;
  fresh.save(restored);
  EXPECT_EQ(restored.dump(), middle.dump());
  EXPECT_EQ(fresh.steps(5), losses);
  MemoryState again;
  fresh.save(again);
  EXPECT_EQ(again.dump(), end.dump());
}

TEST_P(EveryOptimizer, GoesOnTheSameInAProgramThatHasTrainedElsewhere) {
  Training recorded(GetParam().make_optimizer);
  recorded.steps(2);
  MemoryState middle;
  recorded.save(middle);
  const std::vector<double> losses = recorded.steps(4);

  Training used(GetParam().make_optimizer);
  used.steps(9);
  used.load(middle);
  EXPECT_EQ(used.steps(4), losses);
}

TEST_P(EveryOptimizer, ForgetsWhatItKnewWhenRestoredToTheStart) {
  Training recorded(GetParam().make_optimizer);
  MemoryState start;
  recorded.save(start);
  const std::vector<double> losses = recorded.steps(4);

  recorded.load(start);
  MemoryState again;
  recorded.save(again);
  EXPECT_EQ(again.dump(), start.dump());
  EXPECT_EQ(recorded.steps(4), losses);
}

TEST(Training, IsAtTheStatedPointAfterALearningRateWasChangedByHand) {
  const auto make_optimizer = make<optim::AdamW>(optim::AdamWOptions(1e-2));
  Training recorded(make_optimizer);
  recorded.steps(2);
  recorded.optimizer->param_groups()[0].options().set_lr(3e-3);
  MemoryState middle;
  recorded.save(middle);
  const std::vector<double> losses = recorded.steps(4);
  Training fresh(make_optimizer);
  fresh.load(middle);
  EXPECT_EQ(fresh.steps(4), losses);
}

/// Prints the state of a training of each optimizer; run by the test below in processes of its own.
TEST(Training, DISABLED_PrintsItsState) {
  for (const Case& each : cases()) {
    at::manual_seed(11);
    Training training(each.make_optimizer);
    training.steps(3);
    MemoryState state;
    training.save(state);
    std::printf("%s\n%s", each.name, state.dump().c_str());
  }
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  for (std::size_t read = 0; (read = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), read);
  }
  EXPECT_EQ(::pclose(pipe), 0);
  return output.substr(0, output.find("[       OK ]"));
}

TEST(Training, HasTheSameBytesInTwoProcesses) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX " + program +
                              " --gtest_also_run_disabled_tests"
                              " --gtest_filter=Training.DISABLED_PrintsItsState";
  const std::string first = output_of("exec env MALLOC_PERTURB_=7 " + command);
  const std::string second = output_of("exec env MALLOC_PERTURB_=200 FILLER=other " + command);
  EXPECT_GT(first.size(), 100000U);
  EXPECT_TRUE(first == second);
}

}  // namespace
}  // namespace training_test
