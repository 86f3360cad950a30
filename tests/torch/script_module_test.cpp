// Modules of TorchScript: parameters, buffers and all other attributes, in place where an optimizer
// refers to them.
#include "support/memory_state.h"

#include <flor/torch_script.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/optim/adam.h>

#include <sstream>
#include <string>
#include <vector>

namespace script_module_test {
namespace {

using flor::testing::MemoryState;
using ::testing::HasSubstr;
using torch::jit::Module;

Module layer(const std::string& name) {
  Module module(name);
  module.register_parameter("weight", torch::randn({3, 3}), false);
  module.register_buffer("seen", torch::zeros({1}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("calls", c10::IntType::get(), std::int64_t{0});
  module.define(R"(
def forward(self, x):
  if self.training:
    self.calls = self.calls + 1
    self.seen += 1
  return torch.tanh(torch.matmul(x, self.weight))
)");
  return module;
}

/// As programs have it: read by torch::jit::load.
Module network() {
  torch::manual_seed(3);
  Module module("Net");
  module.register_module("first", layer("First"));
  module.register_module("second", layer("Second"));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("rate", c10::FloatType::get(), 0.5);
  module.register_attribute("note", c10::StringType::get(), "new");
  module.register_attribute("losses", c10::ListType::ofFloats(), c10::List<double>());
  module.register_attribute("best", c10::OptionalType::create(c10::TensorType::get()),
                            c10::IValue());
  module.register_attribute("counts",
                            c10::DictType::create(c10::StringType::get(), c10::IntType::get()),
                            c10::Dict<std::string, std::int64_t>());
  module.define(R"(
def forward(self, x):
  y = self.second.forward(self.first.forward(x))
  if self.training:
    self.losses.append(float(y.sum()))
    self.counts["calls"] = self.counts.get("calls", 0) + 1
    self.note = "after " + str(len(self.losses))
    self.rate = self.rate * 0.5
    self.best = y.sum(0)
  return y
)");
  std::stringstream file;
  module.save(file);
  return torch::jit::load(file);
}

std::vector<at::Tensor> parameters(const Module& module) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& tensor : module.parameters()) {
    result.push_back(tensor.set_requires_grad(true));
  }
  return result;
}

std::string described(const Module& module) {
  std::ostringstream out;
  out.precision(17);
  for (const auto& item : module.named_attributes()) {
    if (item.value.isModule()) continue;
    out << item.name << " = " << item.value << "\n";
  }
  return out.str();
}

void train(Module& net, torch::optim::Optimizer& optimizer, int steps) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    net.forward({torch::full({2, 3}, 0.1 * (i + 1))}).toTensor().pow(2).sum().backward();
    optimizer.step();
  }
}

TEST(ScriptModules, GoOnFromWhereTheyWereSavedWithTheOptimizerThatTheyHave) {
  Module net = network();
  torch::optim::Adam optimizer(parameters(net), 0.1);
  train(net, optimizer, 3);
  net.attr("second").toModule().train(false);
  MemoryState state;
  state.save("model", net);
  state.save("optimizer", optimizer);
  const std::string then = described(net);
  EXPECT_THAT(then, HasSubstr("note = after 3"));
  train(net, optimizer, 2);
  const std::string later = described(net);
  EXPECT_NE(later, then);
  const at::Tensor weight = net.attr("first").toModule().attr("weight").toTensor();
  net.train();
  state.load("model", net);
  state.load("optimizer", optimizer);
  EXPECT_EQ(described(net), then);
  EXPECT_TRUE(weight.is_same(net.attr("first").toModule().attr("weight").toTensor()));
  EXPECT_FALSE(net.attr("second").toModule().is_training());
  train(net, optimizer, 2);
  EXPECT_EQ(described(net), later);
}

TEST(ScriptModules, OfAnotherProcessAreFilledWithTheSame) {
  Module net = network();
  torch::optim::Adam optimizer(parameters(net), 0.1);
  train(net, optimizer, 3);
  MemoryState state, again;
  state.save("model", net);
  Module other = network();
  parameters(other);
  state.load("model", other);
  EXPECT_EQ(described(other), described(net));
  again.save("model", other);
  EXPECT_EQ(again.item("model/.attributes"), state.item("model/.attributes"));
  EXPECT_EQ(again.bytes("model/.attributes"), state.bytes("model/.attributes"));
}

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const flor::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ScriptModules, ThatAreNotTheRecordedOnesAreRefusedAndLeftAsTheyAre) {
  Module net = network();
  MemoryState state;
  state.save("model", net);
  Module other = layer("Other");
  const std::string before = described(other);
  EXPECT_THAT(error_of([&] { state.load("model", other); }),
              HasSubstr("the scripted module 'model'"));
  EXPECT_EQ(described(other), before);
}

TEST(ScriptModules, WithAnAttributeOfAnotherKindAreRefusedByItsName) {
  Module net = layer("Net");
  net.register_attribute("where", c10::DeviceObjType::get(), at::Device(at::kCPU));
  MemoryState state;
  EXPECT_THAT(error_of([&] { state.save("model", net); }),
              HasSubstr("the attribute 'model/where' is a Device"));
}

}  // namespace
}  // namespace script_module_test
