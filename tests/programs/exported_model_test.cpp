// What `flor export RUN@EPOCH model.pt` writes is loaded by libtorch's own reader into a module that
// was made anew, under the names of its state_dict: all of them, and no others.
#include "workbench.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/serialize.h>

#include <fstream>
#include <iterator>

namespace flor::testing {
namespace {

/// The module of learner.cpp.
struct Net : torch::nn::Module {
  Net() {
    register_module("first", torch::nn::Linear(6, 8));
    register_module("norm", torch::nn::BatchNorm1d(8));
    register_module("second", torch::nn::Linear(8, 3));
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

}  // namespace
}  // namespace flor::testing
