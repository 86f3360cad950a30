// Does what it can to disturb the replay: writes into all that it gets, draws random numbers,
// seeds, changes the number of threads. And fills a module of its own.
#include <flor/plugin/probe_torch.h>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

namespace {

struct Net : torch::nn::Module {
  explicit Net(std::int64_t hidden)
      : first(register_module("first", torch::nn::Linear(6, hidden))),
        norm(register_module("norm", torch::nn::BatchNorm1d(hidden))),
        second(register_module("second", torch::nn::Linear(hidden, 3))) {}
  torch::nn::Linear first;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear second;
};

}  // namespace

extern "C" std::uint32_t flor_probe_places() {
  return flor::ProbeAt::epoch_end | flor::ProbeAt::loop_end;
}

extern "C" void flor_probe(flor::Probe& plain) {
  {
    const flor::TorchProbe probe(plain);
    for (const auto& [name, tensor] : probe.tensors("")) tensor.fill_(7);
    Net net(8);
    probe.load("model", net);
    probe.log(plain.place().at == flor::ProbeAt::epoch_end ? "weight" : "trained weight",
              net.first->weight.sum());
    torch::manual_seed(plain.epoch());
    probe.log("noise", torch::rand({1}));
  }
  at::set_num_threads(at::get_num_threads() + 1);
}
