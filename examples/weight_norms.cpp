// A plug-in: how large the weights of each layer were at the end of every epoch, asked of runs
// whose program never logged it. Works with every program that registers its model as
// flor::checkpoints does unless told otherwise.
//
//   flor replay linear --plugin ./libweight_norms.so
//   flor query 'norm 1.weight' --run linear
#include <flor/plugin/probe_torch.h>

extern "C" void flor_probe(flor::Probe& plain) {
  const flor::TorchProbe probe(plain);
  auto sum = torch::zeros({}, torch::kDouble);
  for (const auto& [name, tensor] : probe.tensors("model")) {
    const auto values = tensor.to(torch::kDouble);
    probe.log("norm " + name, values.norm());
    sum += values.square().sum();
  }
  probe.log("norm", sum.sqrt());
}
