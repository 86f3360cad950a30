// What `flor export RUN@EPOCH model.pt` writes is loaded by libtorch's own reader into a module that
// was made anew, under the names of its state_dict: all of them, and no others. `flor::load` puts
// the same into a module.
#include "workbench.h"

#include <flor/load.h>
#include <flor/torch.h>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <fstream>
#include <iterator>

namespace flor::testing {
namespace {

/// The module of learner.cpp.
struct Net : torch::nn::Module {
  explicit Net(std::int64_t hidden = 8) {
    register_module("first", torch::nn::Linear(6, hidden));
    register_module("norm", torch::nn::BatchNorm1d(hidden));
    register_module("second", torch::nn::Linear(hidden, 3));
  }
  std::map<std::string, at::Tensor> state() const {
    std::map<std::string, at::Tensor> all;
    for (const auto& entry : named_parameters()) all[entry.key()] = entry.value();
    for (const auto& entry : named_buffers()) all[entry.key()] = entry.value();
    return all;
  }
};

/// Fails for a name that only one of both has, as load_state_dict does in Python.
void load(const std::filesystem::path& file, const Net& net) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  const auto found = torch::pickle_load(bytes).toGenericDict();
  auto state = net.state();
  EXPECT_EQ(found.size(), state.size());
  const at::NoGradGuard no_grad;
  for (const auto& entry : found) {
    state.at(entry.key().toStringRef()).copy_(entry.value().toTensor());
  }
}

TEST(ExportedModel, IsLoadedByNameIntoAFreshModuleBitForBit) {
  const Workbench bench;
  bench.record("learner");
  const auto file = bench.repository().root() / "model.pt";
  const auto exported = run_process({FLOR_CLI, "export", "test", file.string()}, bench.options());
  ASSERT_EQ(exported.status, 0) << exported.err;
  const Net net;
  load(file, net);

  const auto store = bench.store();
  const auto checkpoints = store->catalog().checkpoints(bench.last_run().id);
  const auto last = std::ranges::max_element(checkpoints, {}, [](const auto& info) {
    return info.key.kind == store::CheckpointKind::boundary ? info.key.iteration : -1;
  });
  const store::CheckpointReader reader(*store, last->id);
  for (const auto& [name, tensor] : net.state()) {
    const auto item = reader.find("model/" + name);
    ASSERT_TRUE(item) << name;
    const std::vector<std::byte> recorded = reader.read(*item);
    ASSERT_EQ(recorded.size(), tensor.nbytes()) << name;
    EXPECT_EQ(std::memcmp(recorded.data(), tensor.data_ptr(), recorded.size()), 0) << name;
  }
}

/// The copies of all tensors.
std::map<std::string, at::Tensor> copied(const Net& net) {
  std::map<std::string, at::Tensor> all;
  for (const auto& [name, tensor] : net.state()) all[name] = tensor.detach().clone();
  return all;
}

void expect_equal(const std::map<std::string, at::Tensor>& a,
                  const std::map<std::string, at::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
}

torch::optim::SGD make_optimizer(Net& net) {
  return torch::optim::SGD(net.parameters(), torch::optim::SGDOptions(0.7).momentum(0.9));
}

class LoadedModel : public ::testing::Test {
 protected:
  LoadedModel() {
    bench_.record("learner");
    ::setenv("FLOR_HOME", bench_.home().c_str(), 1);
  }
  ~LoadedModel() override { ::unsetenv("FLOR_HOME"); }

  Workbench bench_;
};

TEST_F(LoadedModel, HasTheBitsOfTheExportedOneAndSoHasItsOptimizer) {
  const auto file = bench_.repository().root() / "model.pt";
  const auto exported =
      run_process({FLOR_CLI, "export", "test@latest", file.string()}, bench_.options());
  ASSERT_EQ(exported.status, 0) << exported.err;
  const Net there;
  load(file, there);
  Net net;
  torch::optim::SGD optimizer = make_optimizer(net);
  const auto parameter = net.parameters().front();
  const Checkpoint loaded = flor::load("test@latest", net, optimizer);
  EXPECT_EQ(loaded.run, bench_.last_run().key);
  expect_equal(net.state(), there.state());
  EXPECT_TRUE(parameter.is_same(net.parameters().front())) << "filled in place";
  EXPECT_NE(optimizer.param_groups().front().options().get_lr(), 0.7);
  EXPECT_EQ(optimizer.state().size(), net.parameters().size()) << "the momenta";
}

TEST_F(LoadedModel, OfAnotherShapeIsNamedAndAllObjectsAreAsBefore) {
  const auto said = [](auto&&... objects) {
    try {
      flor::load("test@latest", std::forward<decltype(objects)>(objects)...);
      return std::string("it fits");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  Net net, wide(9);
  torch::optim::SGD optimizer = make_optimizer(wide);
  const auto before = copied(net), wide_before = copied(wide);
  EXPECT_THAT(said(wide), ::testing::HasSubstr("'model/first.weight' was recorded as "));
  EXPECT_THAT(said(net, optimizer), ::testing::HasSubstr("'optimizer/group0/0'"));
  EXPECT_THAT(said(named("teacher", net)),
              ::testing::HasSubstr("no object 'teacher', but accumulated, best, model, "));
  expect_equal(copied(net), before);
  expect_equal(copied(wide), wide_before);
  EXPECT_EQ(optimizer.param_groups().front().options().get_lr(), 0.7);
  EXPECT_TRUE(optimizer.state().empty());
}

}  // namespace
}  // namespace flor::testing
